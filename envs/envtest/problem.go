package envtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/contextrec/contextrec/envs"
)

// TestProblem checks that p keeps the promises of package envs:
//
//   - the spec is valid, every shape agrees with it, all numbers are finite;
//   - a discount is 0 or 1, and 0 in a bandit (an environment without sessions);
//   - the features of the state are the same for all candidates;
//   - Observe may be repeated, an observation outlives the Step that answers
//     it, an outcome lasts until the next Step, actions are left alone;
//   - a seed determines a run, and other seeds give other runs;
//   - 20 runs are 7 and 13 runs and 20 single ones, bit for bit;
//   - the contexts of a bandit do not depend on the actions;
//   - an Oracle is finite, agrees with the realised rewards (within 6 standard
//     errors), and does not change the run by being asked;
//   - codes say the same as contexts, in one Table that refuses codes of no
//     item; where they are said to be choices, they are those of the session;
//   - PotentialOutcomes are the rewards that are then paid, they do not change
//     the run by being asked for, and nothing but state codes that are choices,
//     and the contexts made of them, depends on the actions;
//   - wrong lengths and actions panic, a missing seed is an error;
//   - the declaration has a JSON form and is not changed by use.
//
// Each broken promise is reported by one t.Errorf.
func (s Suite) TestProblem(t testing.TB, p envs.Problem) {
	t.Helper()
	report(t, s.CheckProblem(p))
}

func (s Suite) problemChecks(p envs.Problem) []check {
	const first = "shapes and numbers are right"
	spec, failed := specOf(p, first)
	if failed != nil {
		return failed
	}
	c := problemChecks{declared: p, p: watchedProblem{p, spec}, spec: spec, steps: s.steps()}
	return []check{
		{first, c.shapes},
		{"buffers stay valid as long as promised", c.buffers},
		{"a seed determines a run", c.seeds},
		{"runs do not depend on how they are stacked", c.chunks},
		{"contexts of a bandit do not depend on the actions", c.pairing},
		{"the oracle tells the truth", c.oracle},
		{"codes say the same as contexts", c.codes},
		{"potential outcomes are those paid", c.outcomes},
		{"bad calls are refused", c.refusals},
		{"the declaration is a value with a JSON form", c.declaration},
	}
}

type problemChecks struct {
	declared envs.Problem
	p        watchedProblem // the declared one
	spec     envs.Spec
	steps    int
}

// walk is an environment whose runs are played by random actions: those of a
// run depend on its seed and on style alone.
type walk struct {
	c       problemChecks
	env     envs.Environment
	acting  []*rand.Rand
	actions []int
	traces  []trace
}

func (c problemChecks) start(seeds []uint64, style uint64) (*walk, error) {
	env, err := c.p.New(seeds)
	if err != nil {
		return nil, err
	}
	w := &walk{c: c, env: env, actions: make([]int, len(seeds)), traces: make([]trace, len(seeds))}
	for _, seed := range seeds {
		w.acting = append(w.acting, rand.New(rand.NewPCG(seed, style)))
	}
	return w, nil
}

// choose draws the next actions.
func (w *walk) choose() []int {
	for r, rng := range w.acting {
		w.actions[r] = rng.IntN(w.c.spec.Candidates)
	}
	return w.actions
}

// step observes, acts and records. It checks all shapes on the way.
func (w *walk) step() error {
	obs := w.env.Observe()
	if err := w.c.checkObservation(obs, len(w.actions)); err != nil {
		return err
	}
	seen := cloneObservation(obs)
	out, err := w.env.Step(w.choose())
	if err != nil {
		return err
	}
	if err := checkOutcome(out, len(w.actions), obs.Session == nil); err != nil {
		return err
	}
	for r := range w.traces {
		w.traces[r].record(r, seen, w.actions, out)
	}
	return nil
}

func (c problemChecks) play(seeds []uint64, style uint64) ([]trace, error) {
	w, err := c.start(seeds, style)
	if err != nil {
		return nil, err
	}
	for i := range c.steps {
		if err := w.step(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return w.traces, nil
}

func (c problemChecks) checkObservation(obs envs.Observation, runs int) error {
	m, d := c.spec.Candidates, c.spec.Dim
	if obs.Runs != runs || obs.Candidates != m || obs.Dim != d {
		return fmt.Errorf("observation of %d runs, %d candidates, %d dimensions; want %d, %d, %d",
			obs.Runs, obs.Candidates, obs.Dim, runs, m, d)
	}
	if len(obs.Contexts) != runs*m*d {
		return fmt.Errorf("%d context values, want %d·%d·%d = %d", len(obs.Contexts), runs, m, d, runs*m*d)
	}
	if obs.Session != nil && len(obs.Session) != runs {
		return fmt.Errorf("%d sessions, want nil or %d", len(obs.Session), runs)
	}
	for i, x := range obs.Contexts {
		if !finite(float64(x)) {
			return fmt.Errorf("context value %d of run %d is %v", i%(m*d), i/(m*d), x)
		}
		// The features of the state are those of the run's first candidate.
		if first := i - i%(m*d) + i%d; i%d < c.spec.State && x != obs.Contexts[first] {
			return fmt.Errorf("state feature %d of run %d is %v for candidate 0 and %v for candidate %d",
				i%d, i/(m*d), obs.Contexts[first], x, i/d%m)
		}
	}
	return nil
}

func checkOutcome(out envs.Outcome, runs int, bandit bool) error {
	if len(out.Reward) != runs || len(out.Discount) != runs {
		return fmt.Errorf("%d rewards and %d discounts for %d runs", len(out.Reward), len(out.Discount), runs)
	}
	for r := range out.Reward {
		if !finite(float64(out.Reward[r])) {
			return fmt.Errorf("the reward of run %d is %v", r, out.Reward[r])
		}
		if d := out.Discount[r]; d != 0 && (d != 1 || bandit) {
			return fmt.Errorf("the discount of run %d is %v, want 0, or 1 where there are sessions", r, d)
		}
	}
	return nil
}

func (c problemChecks) shapes() error {
	if err := c.spec.Validate(); err != nil {
		return err
	}
	w, err := c.start([]uint64{1, 2, 3}, 0)
	if err != nil {
		return err
	}
	bandit := w.env.Observe().Session == nil
	for i := range c.steps {
		if (w.env.Observe().Session == nil) != bandit {
			return fmt.Errorf("step %d: sessions come and go", i)
		}
		if err := w.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (c problemChecks) buffers() error {
	w, err := c.start([]uint64{1, 2, 3}, 0)
	if err != nil {
		return err
	}
	var last, kept envs.Outcome
	for i := range c.steps {
		obs := w.env.Observe()
		seen := cloneObservation(obs)
		if !sameObservation(w.env.Observe(), seen) {
			return fmt.Errorf("step %d: a second Observe differs from the first", i)
		}
		if !sameOutcome(last, kept) {
			return fmt.Errorf("step %d: Observe changed the last outcome", i)
		}
		actions := slices.Clone(w.choose())
		if last, err = w.env.Step(w.actions); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		kept = cloneOutcome(last)
		w.env.Observe()
		if !sameObservation(obs, seen) {
			return fmt.Errorf("step %d: the observation did not outlive the Step that answers it", i)
		}
		if !slices.Equal(w.actions, actions) {
			return fmt.Errorf("step %d: Step changed the actions", i)
		}
	}
	return nil
}

func (c problemChecks) seeds() error {
	seeds := []uint64{11, 12, 13}
	var walks [2]*walk
	for i := range walks {
		var err error
		if walks[i], err = c.start(seeds, 0); err != nil {
			return err
		}
	}
	// In turns, so that anything the two share shows.
	for i := range c.steps {
		for _, w := range walks {
			if err := w.step(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
	}
	for r := range seeds {
		if err := walks[0].traces[r].compare(walks[1].traces[r]); err != nil {
			return fmt.Errorf("two environments with equal seeds and actions: run %d: %w", r, err)
		}
	}
	// Equal actions, so that what differs comes from the seeds.
	one, err := c.p.New(seeds[:1])
	if err != nil {
		return err
	}
	other, err := c.p.New(seeds[1:2])
	if err != nil {
		return err
	}
	for range c.steps {
		if !sameBits(one.Observe().Contexts, other.Observe().Contexts) {
			return nil
		}
		x, err := one.Step([]int{0})
		if err != nil {
			return err
		}
		y, err := other.Step([]int{0})
		if err != nil {
			return err
		}
		if !sameOutcome(x, y) {
			return nil
		}
	}
	return fmt.Errorf("seeds %d and %d give the same run", seeds[0], seeds[1])
}

func (c problemChecks) chunks() error {
	return checkChunks(func(seeds []uint64) ([]trace, error) { return c.play(seeds, 0) })
}

func (c problemChecks) pairing() error {
	seeds := []uint64{21, 22, 23}
	env, err := c.p.New(seeds)
	if err != nil {
		return err
	}
	if env.Observe().Session != nil {
		return nil
	}
	one, err := c.play(seeds, 1)
	if err != nil {
		return err
	}
	other, err := c.play(seeds, 2)
	if err != nil {
		return err
	}
	for r := range one {
		for i := range one[r].contexts {
			if !sameBits(one[r].contexts[i], other[r].contexts[i]) {
				return fmt.Errorf("step %d, run %d: the contexts differ after other actions", i, r)
			}
		}
	}
	return nil
}

func (c problemChecks) oracle() error {
	seeds := twenty()
	w, err := c.start(seeds, 3)
	if err != nil {
		return err
	}
	oracle, ok := w.env.(envs.Oracle)
	if !ok {
		return nil
	}
	m := c.spec.Candidates
	dst := make([]float64, len(seeds)*m)
	var n, sum, squares, size float64
	for i := range c.steps {
		for k := range dst {
			dst[k] = math.NaN()
		}
		oracle.ExpectedRewards(dst)
		for k, e := range dst {
			if !finite(e) {
				return fmt.Errorf("step %d: candidate %d of run %d expects %v", i, k%m, k/m, e)
			}
		}
		again := make([]float64, len(dst))
		oracle.ExpectedRewards(again)
		if !slices.Equal(dst, again) {
			return fmt.Errorf("step %d: it answers the same question in two ways", i)
		}
		if err := w.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for r, tr := range w.traces {
			e := dst[r*m+tr.actions[i]]
			noise := float64(tr.reward[i]) - e
			n, sum, squares, size = n+1, sum+noise, squares+noise*noise, size+math.Abs(e)
		}
	}
	// A relative error of 1e-6 is granted to rewards, which are float32.
	if bound := 6*math.Sqrt(squares) + 1e-6*size; math.Abs(sum) > bound {
		return fmt.Errorf("%.0f realised rewards less their expectations sum to %.4g, more than 6 standard errors (%.4g)", n, sum, bound)
	}
	if err := c.unaskedIsSame(w.traces, seeds, 3); err != nil {
		return err
	}
	return panicsForOtherLengths(len(dst), func(n int) { oracle.ExpectedRewards(make([]float64, n)) })
}

// unaskedIsSame compares runs in which the environment was asked something with
// the same runs without. seed is that of their actions.
func (c problemChecks) unaskedIsSame(asked []trace, seeds []uint64, seed uint64) error {
	unasked, err := c.play(seeds, seed)
	if err != nil {
		return err
	}
	for r := range unasked {
		if err := asked[r].compare(unasked[r]); err != nil {
			return fmt.Errorf("asking changed run %d: %w", r, err)
		}
	}
	return nil
}

// panicsForOtherLengths wants a panic of ask for destinations of other lengths.
func panicsForOtherLengths(want int, ask func(length int)) error {
	for _, length := range []int{0, want - 1, want + 1} {
		if !panics(func() { ask(length) }) {
			return fmt.Errorf("no panic for a destination of length %d, want %d", length, want)
		}
	}
	return nil
}

// codes expands the codes of every step, and follows the choices of every
// session.
func (c problemChecks) codes() error {
	w, err := c.start([]uint64{51, 52, 53}, 4)
	if err != nil {
		return err
	}
	first := w.env.Observe().Codes
	if first == nil {
		for i := range c.steps {
			if err := w.step(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
			if w.env.Observe().Codes != nil {
				return fmt.Errorf("step %d: codes come and go", i+1)
			}
		}
		return nil
	}
	want := *first
	if want.Table == nil {
		return errors.New("step 0: no table")
	}
	identity := want.Table.Identity()
	if identity == "" || strings.ContainsFunc(identity, unicode.IsControl) {
		return fmt.Errorf("the table's identity is %q, want one line", identity)
	}
	var f codeFollower
	for i := range c.steps {
		obs := w.env.Observe()
		if err := c.checkCodes(obs, want, identity); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := f.check(obs); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := w.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		f.choose(obs, w.actions)
	}
	dst, state := make([]float32, c.spec.Dim), want.State[:len(want.State)/3]
	if !panics(func() { want.Table.Expand(dst, state, envs.NoItem) }) {
		return errors.New("no panic for a context of no item")
	}
	return nil
}

// checkCodes compares the codes of an observation with its contexts, and with
// the codes of the first one.
func (c problemChecks) checkCodes(obs envs.Observation, want envs.Codes, identity string) error {
	codes := obs.Codes
	m, d := c.spec.Candidates, c.spec.Dim
	switch {
	case codes == nil:
		return errors.New("codes come and go")
	case codes.Table != want.Table || codes.Choices != want.Choices || len(codes.State) != len(want.State):
		return errors.New("the codes are of another kind than those of step 0")
	case codes.Table.Identity() != identity:
		return fmt.Errorf("the table's identity is %q, and was %q", codes.Table.Identity(), identity)
	case len(codes.Items) != obs.Runs*m || len(codes.State)%obs.Runs != 0:
		return fmt.Errorf("codes of %d items and %d states for %d runs of %d candidates", len(codes.Items), len(codes.State), obs.Runs, m)
	}
	context := make([]float32, d)
	states := len(codes.State) / obs.Runs
	for k, item := range codes.Items {
		for i := range context {
			context[i] = float32(math.NaN())
		}
		r := k / m
		codes.Table.Expand(context, codes.State[r*states:(r+1)*states], item)
		if !sameBits(context, obs.Contexts[k*d:(k+1)*d]) {
			return fmt.Errorf("candidate %d of run %d: code %d expands to another context", k%m, r, item)
		}
	}
	return nil
}

// codeFollower keeps the codes that were chosen, by run and session.
type codeFollower map[[2]int32][]int32

func (f *codeFollower) session(obs envs.Observation, r int) [2]int32 {
	if obs.Session == nil {
		return [2]int32{int32(r)}
	}
	return [2]int32{int32(r), obs.Session[r]}
}

// check wants state codes that are choices to be the last of the session.
func (f *codeFollower) check(obs envs.Observation) error {
	if !obs.Codes.Choices {
		return nil
	}
	states := len(obs.Codes.State) / obs.Runs
	for r := range obs.Runs {
		past := (*f)[f.session(obs, r)]
		for i, code := range obs.Codes.State[r*states : (r+1)*states] {
			want := int32(envs.NoItem)
			if i < len(past) {
				want = past[len(past)-1-i]
			}
			if code != want {
				return fmt.Errorf("state code %d of run %d is %d, the session's choices make it %d", i, r, code, want)
			}
		}
	}
	return nil
}

// choose keeps what was chosen in answer to an observation.
func (f *codeFollower) choose(obs envs.Observation, actions []int) {
	if *f == nil {
		*f = codeFollower{}
	}
	for r, action := range actions {
		session := f.session(obs, r)
		(*f)[session] = append((*f)[session], obs.Codes.Items[r*obs.Candidates+action])
	}
}

func (c problemChecks) outcomes() error {
	seeds := []uint64{61, 62, 63}
	w, err := c.start(seeds, 5)
	if err != nil {
		return err
	}
	outcomes, ok := w.env.(envs.PotentialOutcomes)
	if !ok {
		return nil
	}
	other, err := c.start(seeds, 6)
	if err != nil {
		return err
	}
	others, ok := other.env.(envs.PotentialOutcomes)
	if !ok {
		return errors.New("one environment has them and another has not")
	}
	m := c.spec.Candidates
	dst, after := make([]float32, len(seeds)*m), make([]float32, len(seeds)*m)
	for i := range c.steps {
		for k := range dst {
			dst[k] = float32(math.NaN())
		}
		outcomes.PotentialRewards(dst)
		outcomes.PotentialRewards(after)
		if !sameBits(dst, after) {
			return fmt.Errorf("step %d: it answers the same question in two ways", i)
		}
		others.PotentialRewards(after)
		if !sameBits(dst, after) {
			return fmt.Errorf("step %d: the rewards differ after other actions", i)
		}
		if err := c.compareAhead(w.env.Observe(), other.env.Observe()); err != nil {
			return fmt.Errorf("step %d: %w after other actions", i, err)
		}
		for _, walk := range []*walk{w, other} {
			if err := walk.step(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
			for r, tr := range walk.traces {
				told, paid := dst[r*m+tr.actions[i]], tr.reward[i]
				if math.Float32bits(told) != math.Float32bits(paid) {
					return fmt.Errorf("step %d, run %d: told %v and paid %v", i, r, told, paid)
				}
				if tr.discount[i] != w.traces[r].discount[i] {
					return fmt.Errorf("step %d, run %d: the discounts differ after other actions", i, r)
				}
			}
		}
	}
	if err := c.unaskedIsSame(w.traces, seeds, 5); err != nil {
		return err
	}
	return panicsForOtherLengths(len(dst), func(n int) { outcomes.PotentialRewards(make([]float32, n)) })
}

// compareAhead compares what must not depend on the actions.
func (c problemChecks) compareAhead(a, b envs.Observation) error {
	if !slices.Equal(a.Session, b.Session) {
		return errors.New("the sessions differ")
	}
	if a.Codes == nil || b.Codes == nil || !a.Codes.Choices {
		if !sameBits(a.Contexts, b.Contexts) {
			return errors.New("the contexts differ")
		}
		return nil
	}
	if !slices.Equal(a.Codes.Items, b.Codes.Items) {
		return errors.New("the codes of the items differ")
	}
	return nil
}

func (c problemChecks) refusals() error {
	if _, err := c.p.New(nil); err == nil {
		return errors.New("New without a seed returned no error")
	}
	for _, actions := range [][]int{nil, {0, 0}, {0, 0, 0, 0}, {0, -1, 0}, {0, 0, c.spec.Candidates}} {
		env, err := c.p.New([]uint64{1, 2, 3})
		if err != nil {
			return err
		}
		if !panics(func() { _, err = env.Step(actions) }) {
			return fmt.Errorf("no panic for actions %v in 3 runs of %d candidates (error %v)", actions, c.spec.Candidates, err)
		}
	}
	return nil
}

func (c problemChecks) declaration() error {
	return checkJSON(c.declared, func() error { _, err := c.play([]uint64{1, 2}, 0); return err })
}
