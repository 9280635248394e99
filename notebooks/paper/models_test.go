package paper_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/pgcr"
)

// Linear's weights have length 1; Bernoulli's are not negative and sum to 1.
func TestRewardWeights(t *testing.T) {
	w, err := paper.RewardWeights(envs.Linear{}, 5)
	w = must(t, w, err)
	var square float64
	for _, x := range w {
		square += x * x
	}
	if len(w) != 40 || math.Abs(square-1) > 1e-9 {
		t.Errorf("%d weights with square sum %v, want 40 with 1", len(w), square)
	}
	w, err = paper.RewardWeights(envs.Bernoulli{Dim: 7, Candidates: 3}, 5)
	w = must(t, w, err)
	var sum float64
	for _, x := range w {
		sum += x
	}
	if len(w) != 7 || math.Abs(sum-1) > 1e-9 || slices.Min(w) < 0 {
		t.Errorf("the weights are %v, want 7 that are not negative and sum to 1", w)
	}
}

func TestRewardWeightsThatAreNot(t *testing.T) {
	if _, err := paper.RewardWeights(envs.Mixed{}, 5); err == nil || !strings.Contains(err.Error(), "not linear") {
		t.Errorf("of a product it says %v", err)
	}
	if _, err := paper.RewardWeights(envs.Chain{}, 5); err == nil || !strings.Contains(err.Error(), "no Oracle") {
		t.Errorf("without an oracle it says %v", err)
	}
}

// knowing is an algorithm whose values are factor * w·c + offset. It notes what
// it has learned from.
type knowing struct {
	w              []float64
	factor, offset float64
	rewards        *[]float32
}

func (k knowing) New(envs.Spec, []uint64) (envs.Policy, error) { return k, nil }

func (knowing) Act([]int, envs.Observation) error { panic("asked to choose") }

func (k knowing) Update(tr envs.Transition) error {
	*k.rewards = append(*k.rewards, tr.Reward...)
	return nil
}

func (k knowing) Values(dst []float64, obs envs.Observation) error {
	for i := range dst {
		dst[i] = k.offset
		for d, w := range k.w {
			dst[i] += k.factor * w * float64(obs.Contexts[i*len(k.w)+d])
		}
	}
	return nil
}

// Who knows the weights has correlation 1 and no regret; who has their sign
// wrong has -1 and always the worst candidate; who has one value for all has 0
// and the first candidate, which is a random one: 0.3357 a step, see
// [envs.Linear].
func TestFitRandomChoices(t *testing.T) {
	const seed = 11
	w, err := paper.RewardWeights(envs.Linear{}, seed)
	w = must(t, w, err)
	fit := func(factor float64) (*paper.ModelFit, []float32) {
		var rewards []float32
		f, err := paper.FitRandomChoices(envs.Linear{}, sim.Contender{Name: "x", Algorithm: knowing{w, factor, 2, &rewards}}, []uint64{seed}, 50)
		return must(t, f, err), rewards
	}
	right, rewards := fit(3)
	if c, r := right.Correlation().Mean, right.Regret().Mean; math.Abs(c-1) > 1e-9 || r != 0 {
		t.Errorf("who knows has correlation %v and regret %v", c, r)
	}
	if right.Name != "x" || right.Steps != 50 || len(rewards) != 50 {
		t.Errorf("%q learned from %d steps, and from %d rewards, want 50", right.Name, right.Steps, len(rewards))
	}
	wrong, sameRewards := fit(-1)
	if !slices.Equal(rewards, sameRewards) || !slices.Equal(right.Expected[0], wrong.Expected[0]) {
		t.Error("two algorithms are shown different steps")
	}
	// The range of five standard normals is 2.326 in the mean, by sqrt(1/12); the
	// mean over 400 steps has a standard error of about 0.013.
	if c, r := wrong.Correlation().Mean, wrong.Regret().Mean; math.Abs(c+1) > 1e-9 || math.Abs(r-0.671) > 0.05 {
		t.Errorf("who has it wrong has correlation %v and regret %v", c, r)
	}
	level, _ := fit(0)
	if c, r := level.Correlation().Mean, level.Regret().Mean; c != 0 || math.Abs(r-0.336) > 0.05 {
		t.Errorf("who has no preference has correlation %v and regret %v", c, r)
	}
}

// The scores of Lin-UCB without a bonus are estimates, and exact ones where there
// is no noise and hardly a penalty.
func TestFitOfScores(t *testing.T) {
	exact := baselines.LinUCB{Alpha: baselines.NoExploration, Ridge: 1e-6}
	f, err := paper.FitRandomChoices(envs.Linear{Dim: 4, RewardNoise: envs.NoNoise}, sim.Contender{Name: "x", Algorithm: exact}, []uint64{1, 2}, 60)
	f = must(t, f, err)
	for r := range 2 {
		for i, e := range f.Expected[r] {
			if math.Abs(f.Estimated[r][i]-e) > 1e-3 {
				t.Fatalf("run %d, candidate %d: estimate %v, truth %v", r, i, f.Estimated[r][i], e)
			}
		}
	}
	if _, err := paper.FitRandomChoices(envs.Linear{}, sim.Contender{Algorithm: baselines.Random{}}, []uint64{1}, 5); err == nil {
		t.Error("random choice has estimates")
	}
}

// Of two actors one likes the first candidate, like the whole network, and one
// the second: half of them disagree, and each probability is 1/2 +- 1/2.
func TestMaskSpread(t *testing.T) {
	s := paper.MaskSpread{Masks: [][]float64{{1, 0}, {0, 1}}, Whole: []float64{0.6, 0.4}}
	if s.Disagreement() != 0.5 || s.Deviation() != 0.5 {
		t.Errorf("disagreement %v and deviation %v, want 0.5", s.Disagreement(), s.Deviation())
	}
}

func TestSpreadOverMasks(t *testing.T) {
	s, err := paper.SpreadOverMasks(envs.Bernoulli{}, pgcr.Config{Dropout: 0.5}, 3, 30, 40)
	s = must(t, s, err)
	if len(s.Masks) != 40 || s.Steps != 30 || s.Dropout != 0.5 {
		t.Errorf("%d masks after %d steps with dropout %v", len(s.Masks), s.Steps, s.Dropout)
	}
	if !slices.IsSortedFunc(s.Expected, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
		t.Errorf("the best one is not the first: %v", s.Expected)
	}
	for _, p := range append(s.Masks, s.Whole) {
		var sum float64
		for _, x := range p {
			sum += x
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Fatalf("probabilities sum to %v", sum)
		}
	}
	if s.Deviation() == 0 {
		t.Error("all masks are alike")
	}
	plain, err := paper.SpreadOverMasks(envs.Bernoulli{}, pgcr.Config{}, 3, 30, 4)
	plain = must(t, plain, err)
	if plain.Deviation() != 0 || plain.Disagreement() != 0 || !slices.Equal(plain.Masks[0], plain.Whole) {
		t.Error("without dropout masks differ")
	}
	if !slices.Equal(plain.Expected, s.Expected) {
		t.Error("with the same seed the step is another")
	}
}

// The contenders of the study differ in the control variate alone.
func TestControlVariateStudy(t *testing.T) {
	e := paper.ControlVariateStudy()
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	off, on := e.Contenders[0].Algorithm.(pgcr.Config), e.Contenders[1].Algorithm.(pgcr.Config)
	if off.ControlVariate || !on.ControlVariate {
		t.Errorf("%+v", e.Contenders)
	}
	on.ControlVariate = false
	a, err := off.MarshalJSON()
	b, err2 := on.MarshalJSON()
	if string(must(t, a, err)) != string(must(t, b, err2)) {
		t.Errorf("they differ in more: %s and %s", a, b)
	}
}
