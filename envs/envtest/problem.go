package envtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

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
//   - wrong lengths and actions panic, a missing seed is an error;
//   - the declaration has a JSON form and is not changed by use.
//
// Each broken promise is reported by one t.Errorf.
func (s Suite) TestProblem(t testing.TB, p envs.Problem) {
	t.Helper()
	c := problemChecks{p: p, spec: p.Spec(), steps: s.steps()}
	report(t, []check{
		{"shapes and numbers are right", c.shapes},
		{"buffers stay valid as long as promised", c.buffers},
		{"a seed determines a run", c.seeds},
		{"runs do not depend on how they are stacked", c.chunks},
		{"contexts of a bandit do not depend on the actions", c.pairing},
		{"the oracle tells the truth", c.oracle},
		{"bad calls are refused", c.refusals},
		{"the declaration is a value with a JSON form", c.declaration},
	})
}

type problemChecks struct {
	p     envs.Problem
	spec  envs.Spec
	steps int
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
	unasked, err := c.play(seeds, 3)
	if err != nil {
		return err
	}
	for r := range unasked {
		if err := w.traces[r].compare(unasked[r]); err != nil {
			return fmt.Errorf("asking changed run %d: %w", r, err)
		}
	}
	for _, length := range []int{0, len(dst) - 1, len(dst) + 1} {
		if !panics(func() { oracle.ExpectedRewards(make([]float64, length)) }) {
			return fmt.Errorf("no panic for a destination of length %d, want %d", length, len(dst))
		}
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
	return checkJSON(c.p, func() error { _, err := c.play([]uint64{1, 2}, 0); return err })
}
