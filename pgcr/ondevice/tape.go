package ondevice

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// table is where the tapes of a match are made.
type table struct {
	match     sim.Match
	script    pgcr.Script
	spec      envs.Spec
	size      pgcr.TapeSize
	catalogue *catalogue // nil where contexts are laid out themselves
	sessions  bool
	oracle    bool
	shape     shape
	groups    []*group
	steps     int // those of the match, rounded up to the next update; what comes after the match is not recorded
	laid      int // steps laid out so far

	slots  []uint8 // [R, T], what was chosen so far
	chosen []int32 // [R, T], its codes; nil unless contexts depend on them
}

// maxStretch bounds the steps between updates, which are written out in the
// graph.
const maxStretch = 128

// group is some neighbouring runs with an environment of their own: a run does
// not depend on those beside it, so groups can be laid out at the same time.
type group struct {
	first, runs int
	env         envs.Environment
	outcomes    envs.PotentialOutcomes
	oracle      envs.Oracle // or nil
	latest      []map[int32][]int32

	// Scratch.
	actions, order []int
	rewards        []float32
	expected       []float64
	rivalSlots     []int32
}

// piece is the tape of some steps. K is their number, U that of the updates
// among them, T that of all steps.
type piece struct {
	first, steps int
	contexts     []float32 // [R, K, M*D], by slot; nil where there are codes
	codes        []int32   // [R, K, S+M]: rows of the history that the state's choices are in, r*T + step or -1, and rows of features by slot
	floats       []float32 // [K, R, F]
	shared       []float32 // [K, S]
	draws        []int32   // [U, R, I]: rows of the history, of the batch and of what follows; places of the rivals
	updates      []float32 // [U, R, G]

	// What the host keeps.
	order    []uint8   // [R, K, M], the candidate at each slot
	expected []float64 // [R, K, M], by candidate; nil without an Oracle
	rewards  []float32 // [R, K, M], by candidate
	items    []int32   // [R, K, M], codes by candidate; nil where there are contexts
	session  []int32   // [R, K]; nil in a bandit
	discount []float32 // [R, K]
	err      error
}

// newTable makes policy and environments.
func newTable(m sim.Match) (*table, error) {
	policy, err := m.NewPolicy()
	if err != nil {
		return nil, err
	}
	s, ok := policy.(scripted)
	if !ok {
		return nil, unsuitable(fmt.Sprintf("%T has no script", m.Algorithm))
	}
	t := &table{match: m, spec: m.Problem.Spec(), oracle: true}
	runs := len(m.ProblemSeeds)
	n := min(runs, runtime.GOMAXPROCS(0))
	for i := range n {
		if err := t.group(runs*i/n, runs*(i+1)/n); err != nil {
			return nil, err
		}
	}
	if t.script, err = s.Script(t.sessions); err != nil {
		return nil, err
	}
	t.size = t.script.Tape()
	t.shape = t.newShape()
	every := t.script.UpdateEvery()
	if every > maxStretch {
		return nil, unsuitable(fmt.Sprintf("%T learns every %d steps only; at most %d are played between updates", m.Algorithm, every, maxStretch))
	}
	t.steps = (m.Steps + every - 1) / every * every
	if places := float64(runs) * float64(t.steps) * float64(t.places()); places >= math.MaxInt32 {
		return nil, unsuitable(fmt.Sprintf("%d runs of %d steps are too many for one history; fewer runs at a time would do (sim.Options.Stack, flag -stack)", runs, t.steps))
	}
	for _, g := range t.groups {
		g.rivalSlots = make([]int32, t.size.Rivals*t.size.Batch)
	}
	t.slots = make([]uint8, runs*t.steps)
	if t.stateful() {
		t.chosen = make([]int32, runs*t.steps)
	}
	return t, nil
}

// group adds the runs from one to another, not included.
func (t *table) group(from, to int) error {
	env, err := t.match.NewEnvironment(from, to)
	if err != nil {
		return err
	}
	runs, m := to-from, t.spec.Candidates
	g := &group{first: from, runs: runs, env: env, actions: make([]int, runs), order: make([]int, m),
		rewards: make([]float32, runs*m), expected: make([]float64, runs*m)}
	if g.outcomes, _ = env.(envs.PotentialOutcomes); g.outcomes == nil {
		return unsuitable(fmt.Sprintf("the environment of %T does not tell what every candidate would earn (envs.PotentialOutcomes)", t.match.Problem))
	}
	obs := env.Observe()
	if from == 0 {
		t.sessions = obs.Session != nil
		if t.catalogue, err = newCatalogue(obs, t.spec); err != nil {
			return err
		}
	} else if c := t.catalogue; c != nil && (obs.Codes == nil || obs.Codes.Table.Identity() != c.table.Identity()) {
		if t.stateful() {
			return fmt.Errorf("ondevice: runs of %T have different tables", t.match.Problem)
		}
		t.catalogue = nil
	}
	if t.stateful() {
		for range runs {
			g.latest = append(g.latest, map[int32][]int32{})
		}
	}
	g.oracle, _ = env.(envs.Oracle)
	t.oracle = t.oracle && g.oracle != nil
	t.groups = append(t.groups, g)
	return nil
}

func (t *table) runs() int { return len(t.match.ProblemSeeds) }

// stateful tells whether contexts depend on what was chosen before.
func (t *table) stateful() bool { return t.catalogue != nil && t.catalogue.state > 0 }

// shape is that of a tape and of the history.
type shape struct {
	floats  int // F: those of the script; the slot of each candidate, if any; its feedback, if any; its reward
	draws   int // I
	updates int // G: those of the script; with Sarsa, whether the run learns, and the discounts; at least 1
	history int // of a run's step: contexts, or codes
	width   int // of a context
	hist    int // slot and reward of what was chosen; where contexts depend on it, feedback and row of features
}

func (t *table) newShape() shape {
	m, b := t.spec.Candidates, t.size.Batch
	s := shape{floats: t.size.Floats + m, draws: b * (1 + t.size.Rivals), updates: max(t.size.Update, 1), width: pgcr.Width(t.spec.Dim), hist: 2}
	s.history = m * s.width
	if t.size.Slots {
		s.floats += m
	}
	if t.size.Sarsa {
		s.draws += b
		s.updates = t.size.Update + 1 + b
	}
	if c := t.catalogue; c != nil {
		s.history = c.state + m
	}
	if t.stateful() {
		s.floats += m
		s.hist = 4
	}
	return s
}

// places is how many places for an item the history has in a run's step.
func (t *table) places() int {
	if t.catalogue != nil {
		return t.shape.history
	}
	return t.spec.Candidates
}

// upload is how many bytes a step takes on its way to the device.
func (t *table) upload() int {
	s := t.shape
	per := t.spec.Candidates * t.spec.Dim
	if t.catalogue != nil {
		per = s.history
	}
	return 4 * (t.runs()*(per+s.floats+(s.draws+s.updates)/t.script.UpdateEvery()) + t.size.Shared)
}

// next lays out so many further steps.
func (t *table) next(steps int) *piece {
	runs, m, s := t.runs(), t.spec.Candidates, t.shape
	updates := steps / t.script.UpdateEvery()
	p := &piece{
		first: t.laid, steps: steps,
		floats:   make([]float32, steps*runs*s.floats),
		shared:   make([]float32, steps*t.size.Shared),
		draws:    make([]int32, updates*runs*s.draws),
		updates:  make([]float32, updates*runs*s.updates),
		order:    make([]uint8, runs*steps*m),
		rewards:  make([]float32, runs*steps*m),
		discount: make([]float32, runs*steps),
	}
	if t.catalogue != nil {
		p.codes, p.items = make([]int32, runs*steps*s.history), make([]int32, runs*steps*m)
	} else {
		p.contexts = make([]float32, runs*steps*m*t.spec.Dim)
	}
	if t.sessions {
		p.session = make([]int32, runs*steps)
	}
	if t.oracle {
		p.expected = make([]float64, runs*steps*m)
	}
	for k := range steps {
		t.script.LayShared(t.laid+k, p.shared[k*t.size.Shared:(k+1)*t.size.Shared])
	}
	errs := make([]error, len(t.groups))
	var wg sync.WaitGroup
	for i, g := range t.groups {
		wg.Go(func() { t.lay(g, p, &errs[i]) })
	}
	wg.Wait()
	// The error of the earliest step is the one that the loop would have met.
	for _, err := range errs {
		if p.err == nil || err != nil && err.(*sim.StepError).Step < p.err.(*sim.StepError).Step {
			p.err = err
		}
	}
	t.laid += steps
	return p
}

// lay fills in a group's runs, or sets the error.
func (t *table) lay(g *group, p *piece, failed *error) {
	k, err := 0, errGoexit
	defer func() {
		if err != nil {
			*failed = &sim.StepError{Step: p.first + k + 1, Err: err}
		}
	}()
	defer caught(&err)
	for k < p.steps {
		if at := t.layStep(g, p, k); at != nil {
			if run, ok := at.(*envs.RunError); ok {
				at = &envs.RunError{Run: g.first + run.Run, Err: run.Err}
			}
			err = at
			return
		}
		k++
	}
	err = nil
}

// errGoexit is the error of a goroutine that has not come to its end.
var errGoexit = errors.New("its goroutine was ended (runtime.Goexit, which a test's FailNow calls)")

// caught makes an error of a panic, in a goroutine that nobody else would catch it
// in. It is deferred.
func caught(err *error) {
	if v := recover(); v != nil {
		cause, ok := v.(error)
		if !ok {
			cause = fmt.Errorf("%v", v)
		}
		*err = fmt.Errorf("panic: %w\n%s", cause, debug.Stack())
	}
}

func (t *table) layStep(g *group, p *piece, k int) error {
	m := t.spec.Candidates
	obs := g.env.Observe()
	if t.catalogue == nil { // its features have been looked at already
		if err := obs.Finite(); err != nil {
			return err
		}
	}
	g.outcomes.PotentialRewards(g.rewards)
	for i, x := range g.rewards {
		if !finite(float64(x)) {
			return &envs.RunError{Run: i / m, Err: fmt.Errorf("the reward of candidate %d would be %v", i%m, x)}
		}
	}
	if t.oracle {
		g.oracle.ExpectedRewards(g.expected)
		for i, x := range g.expected {
			if !finite(x) {
				return &envs.RunError{Run: i / m, Err: fmt.Errorf("expected reward of candidate %d is %v", i%m, x)}
			}
		}
	}
	// Nothing that comes depends on what is chosen, but for states, which the
	// device makes itself. The observation stays as it is until the step after
	// this one.
	out, err := g.env.Step(g.actions)
	if err != nil {
		return err
	}
	for i := range g.runs {
		if d := out.Discount[i]; !(d >= 0 && d <= 1) {
			return &envs.RunError{Run: i, Err: fmt.Errorf("discount is %v, want 0 to 1", d)}
		}
		t.layRun(g, p, k, i, obs, out)
	}
	return nil
}

// layRun lays out the step of run i of a group.
func (t *table) layRun(g *group, p *piece, k, i int, obs envs.Observation, out envs.Outcome) {
	runs, m, r, s := t.runs(), t.spec.Candidates, g.first+i, t.shape
	at := r*p.steps + k
	floats := p.floats[(k*runs+r)*s.floats : (k*runs+r+1)*s.floats]
	for slot := range g.order {
		g.order[slot] = slot
	}
	row := pgcr.TapeRow{Floats: floats[:t.size.Floats], Order: g.order}
	p.discount[at] = out.Discount[i]
	if t.sessions {
		p.session[at] = obs.Session[i]
		row.Visit = &pgcr.Visit{Session: obs.Session[i], Discount: out.Discount[i]}
	}
	if every := t.script.UpdateEvery(); (k+1)%every == 0 {
		u := (k+1)/every - 1
		update := t.update(p.draws[(u*runs+r)*s.draws:(u*runs+r+1)*s.draws], p.updates[(u*runs+r)*s.updates:(u*runs+r+1)*s.updates])
		clear(g.rivalSlots)
		update.RivalSlots = g.rivalSlots
		row.Update = update
	}
	t.script.Lay(r, p.first+k, row)
	if row.Update != nil {
		t.inHistory(r, row.Update)
	}
	for slot, candidate := range g.order {
		p.order[at*m+slot] = uint8(candidate)
	}
	tail := floats[t.size.Floats:]
	if t.size.Slots {
		for slot, candidate := range g.order {
			tail[candidate] = float32(slot)
		}
		tail = tail[m:]
	}
	if t.catalogue != nil {
		t.layCodes(g, p, i, at, k, obs)
	} else {
		t.layContexts(g, p, i, at, obs)
	}
	if t.stateful() {
		for c, item := range p.items[at*m : (at+1)*m] {
			tail[c] = t.catalogue.table.Feedback(item)
		}
		tail = tail[m:]
	}
	copy(tail, g.rewards[i*m:(i+1)*m])
	copy(p.rewards[at*m:], g.rewards[i*m:(i+1)*m])
	if t.oracle {
		copy(p.expected[at*m:], g.expected[i*m:(i+1)*m])
	}
}

// update is where a script writes an update to.
func (t *table) update(draws []int32, floats []float32) *pgcr.TapeUpdate {
	b, own := t.size.Batch, t.size.Update
	u := &pgcr.TapeUpdate{Floats: floats[:own], Batch: draws[:b]}
	draws = draws[b:]
	if t.size.Sarsa {
		u.Ready, u.Discount, u.Next = &floats[own], floats[own+1:], draws[:b]
		draws = draws[b:]
	}
	u.Rivals = draws
	return u
}

// inHistory turns the numbers of run r's steps into rows and places of the history.
func (t *table) inHistory(r int, u *pgcr.TapeUpdate) {
	row := int32(r * t.steps)
	for i := range u.Batch {
		u.Batch[i] += row
	}
	for i := range u.Next {
		u.Next[i] += row
	}
	places := int32(t.places())
	for i := range u.Rivals {
		u.Rivals[i] = (row+u.Rivals[i]+1)*places - int32(t.spec.Candidates) + u.RivalSlots[i]
	}
}

func (t *table) layContexts(g *group, p *piece, i, at int, obs envs.Observation) {
	m, d := t.spec.Candidates, t.spec.Dim
	contexts, from := p.contexts[at*m*d:(at+1)*m*d], obs.Contexts[i*m*d:(i+1)*m*d]
	for slot, candidate := range g.order {
		copy(contexts[slot*d:(slot+1)*d], from[candidate*d:])
	}
}

func (t *table) layCodes(g *group, p *piece, i, at, k int, obs envs.Observation) {
	m, s := t.spec.Candidates, t.catalogue.state
	items := p.items[at*m : (at+1)*m]
	copy(items, obs.Codes.Items[i*m:(i+1)*m])
	codes := p.codes[at*(s+m) : (at+1)*(s+m)]
	for slot, candidate := range g.order {
		codes[s+slot] = t.catalogue.rows[items[candidate]]
	}
	if s == 0 {
		return
	}
	session := int32(0)
	if t.sessions {
		session = obs.Session[i]
	}
	latest := g.latest[i][session]
	for j := range s {
		codes[j] = -1
		if j < len(latest) {
			codes[j] = latest[j]
		}
	}
	row := int32((g.first+i)*t.steps + p.first + k)
	if len(latest) < s {
		latest = append(latest, 0)
	}
	copy(latest[1:], latest)
	latest[0] = row
	g.latest[i][session] = latest
}

// record shows the recorder the steps of a piece, in which slots, [R, K], were
// chosen.
func (t *table) record(p *piece, slots []float32) error {
	runs, m, d := t.runs(), t.spec.Candidates, t.spec.Dim
	tr := envs.Transition{
		Observation: envs.Observation{Runs: runs, Candidates: m, Dim: d},
		Actions:     make([]int, runs),
		Outcome:     envs.Outcome{Reward: make([]float32, runs), Discount: make([]float32, runs)},
	}
	if t.sessions {
		tr.Session = make([]int32, runs)
	}
	if c := t.catalogue; c != nil {
		tr.Codes = &envs.Codes{Items: make([]int32, runs*m), State: make([]int32, runs*c.state), Choices: true, Table: c.table}
	} else {
		tr.Contexts = make([]float32, runs*m*d)
	}
	var regret []float64
	if t.oracle {
		regret = make([]float64, runs)
	}
	for k := range min(p.steps, t.match.Steps-p.first) {
		for r := range runs {
			at, slot := r*p.steps+k, slots[r*p.steps+k]
			if !(slot >= 0) {
				return &sim.StepError{Step: p.first + k + 1, Err: t.script.Diverged(r, p.first+k)}
			}
			a := int(p.order[at*m+int(slot)])
			row := r*t.steps + p.first + k
			t.slots[row] = uint8(slot)
			tr.Actions[r], tr.Reward[r], tr.Discount[r] = a, p.rewards[at*m+a], p.discount[at]
			if t.oracle {
				expected := p.expected[at*m : (at+1)*m]
				regret[r] = slices.Max(expected) - expected[a]
			}
			if t.sessions {
				tr.Session[r] = p.session[at]
			}
			if t.catalogue != nil {
				t.observedCodes(tr.Codes, p, r, at)
			} else {
				t.observed(tr.Contexts[r*m*d:(r+1)*m*d], p, at)
			}
			if t.chosen != nil {
				t.chosen[row] = p.items[at*m+a]
			}
		}
		t.match.Recorder.Record(p.first+k+1, tr, regret)
	}
	return nil
}

// observed puts the contexts of a run's step back into the candidates' order.
func (t *table) observed(dst []float32, p *piece, at int) {
	m, d := t.spec.Candidates, t.spec.Dim
	for slot, candidate := range p.order[at*m : (at+1)*m] {
		copy(dst[int(candidate)*d:(int(candidate)+1)*d], p.contexts[(at*m+slot)*d:])
	}
}

// observedCodes writes those of a run's step.
func (t *table) observedCodes(dst *envs.Codes, p *piece, r, at int) {
	m, s := t.spec.Candidates, t.catalogue.state
	copy(dst.Items[r*m:], p.items[at*m:(at+1)*m])
	for i, row := range p.codes[at*(s+m):][:s] {
		dst.State[r*s+i] = envs.NoItem
		if row >= 0 {
			dst.State[r*s+i] = t.chosen[row]
		}
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
