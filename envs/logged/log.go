package logged

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/contextrec/contextrec/envs"
)

// Log is decisions in the order of time.
type Log struct {
	Features   []string // the names of the D features
	Candidates int      // M, of the largest set
	Decisions  []Decision
	Warnings   []string // what the reader left out of the file, and what Check says of it

	items     []value  // of a fixed catalogue, which all decisions offer
	pairs     [][2]int // of features, whose products are the last features, see Crossed
	sets      int      // resampled ones a decision, see Marginal; 0: weights are not marginal
	state     []bool   // features that are the same for all candidates of a set, where sets > 0
	estimated bool     // propensities are
}

// Decision is one decision among m candidates, and what came of it.
type Decision struct {
	ID, User       string    // User is empty where the log has no users
	Contexts       []float32 // [m, D], row-major; nil where only Log.Contexts has them
	Chosen         int       // the index of the chosen candidate
	Reward         float32   // of the chosen candidate
	Propensity     float64   // the probability with which it was chosen; 0: not known
	SamplingWeight float64   // how many decisions it stands for, where the log is a sample; 1e-9 to 1e9; 0: 1
	Expected       []float64 // what each candidate is expected to earn, [m]; nil: not known

	size   int     // m, and
	values []value // what candidates have beside the catalogue, where Contexts is nil
}

// value is a feature that is not 0, of a candidate or of all (-1).
type value struct {
	candidate, feature int32
	x                  float32
}

// Contexts are the features of the candidates of a decision, [m, D], row-major.
func (l *Log) Contexts(d Decision) []float32 {
	all := l.uncrossed(d)
	if l.pairs == nil {
		return all
	}
	crossed := make([]float32, 0, len(all)/l.dim()*len(l.Features))
	for x := range slices.Chunk(all, l.dim()) {
		crossed = append(crossed, x...)
		for _, p := range l.pairs {
			crossed = append(crossed, x[p[0]]*x[p[1]])
		}
	}
	return crossed
}

// uncrossed are the features but products, [m, dim].
func (l *Log) uncrossed(d Decision) []float32 {
	if d.Contexts != nil {
		return d.Contexts
	}
	dim := l.dim()
	all := make([]float32, d.size*dim)
	for _, v := range slices.Concat(l.items, d.values) {
		from, to := int(v.candidate), int(v.candidate)+1
		if v.candidate < 0 {
			from, to = 0, d.size
		}
		for c := from; c < to; c++ {
			all[c*dim+int(v.feature)] += v.x
		}
	}
	return all
}

// dim is the number of features without products.
func (l *Log) dim() int { return len(l.Features) - len(l.pairs) }

func (l *Log) size(d Decision) int {
	if d.Contexts == nil {
		return d.size
	}
	return len(d.Contexts) / max(1, l.dim())
}

// Spec is the shape of the decisions, for envs.Algorithm.
func (l *Log) Spec() envs.Spec { return envs.Spec{Candidates: l.Candidates, Dim: len(l.Features)} }

// Check is envs.CheckSteps of the log: what cannot be learned. Of a long one it looks at some decisions alone.
func (l *Log) Check() (warnings []string) {
	every := 1 + len(l.Decisions)*l.Candidates*len(l.Features)>>22
	other := slices.IndexFunc(l.Decisions, func(d Decision) bool { return d.Reward != l.Decisions[0].Reward }) // it may be rare
	warnings = envs.CheckSteps(l.Spec(), func(yield func(envs.Transition) bool) {
		for i, d := range l.Decisions {
			if (i%every == 0 || i == other) && !yield(l.step(d, 1)) {
				return
			}
		}
	}, l.Features...)
	for i := 0; i < len(warnings) && every > 1; i++ {
		warnings[i] = fmt.Sprintf("by one decision in %d: %s", every, warnings[i])
	}
	return warnings
}

// Split returns that fraction of the decisions, the first ones, to learn from, and the rest, to be judged by.
// Users may be in both: an estimate is for known ones. Split panics when the fraction is not in [0, 1].
func (l *Log) Split(fraction float64) (first, rest *Log) {
	if !(fraction >= 0 && fraction <= 1) {
		panic(fmt.Sprintf("logged: got a fraction of %v, want 0 to 1", fraction))
	}
	n, a, b := int(math.Round(fraction*float64(len(l.Decisions)))), *l, *l
	a.Decisions, b.Decisions = l.Decisions[:n:n], l.Decisions[n:]
	return &a, &b
}

// Crossed returns the log with products of each feature that is the same for all candidates of a set, a user's,
// with each that is not: linear scores can then prefer other candidates for other users. Split it afterwards.
func (l *Log) Crossed() *Log {
	crossed, shared := *l, l.shared()
	crossed.Features, crossed.pairs = slices.Clone(l.Features[:l.dim()]), nil
	for i := range shared {
		for j := range shared {
			if shared[i] && !shared[j] {
				crossed.pairs = append(crossed.pairs, [2]int{i, j})
				crossed.Features = append(crossed.Features, l.Features[i]+"·"+l.Features[j])
			}
		}
	}
	return &crossed
}

// shared says which features but products are the same for all candidates of a set.
func (l *Log) shared() []bool {
	shared := slices.Repeat([]bool{true}, l.dim())
	for _, d := range l.Decisions {
		x := l.uncrossed(d)
		for i := range x {
			j := i % len(shared)
			shared[j] = shared[j] && scalar.EqualWithinRel(float64(x[i]), float64(x[j]), tiny)
		}
	}
	return shared
}

const leastPropensity, leastSampling, mostSampling = 1e-6, 1e-9, 1e9 // which bound the weights of estimates

// check returns an error where nothing can be learned or, without propensities, estimated.
func (l *Log) check(propensities bool) error {
	if len(l.Decisions) == 0 || len(l.Features) == 0 {
		return fmt.Errorf("logged: the log, or a part of it, has %d decisions and %d features, want some of both", len(l.Decisions), len(l.Features))
	}
	for _, d := range l.Decisions {
		size, wrong := l.size(d), ""
		switch {
		case len(d.Contexts)%l.dim() != 0 || size > l.Candidates || d.Chosen < 0 || d.Chosen >= size:
			wrong = fmt.Sprintf("chosen candidate %d, and contexts of %d values, want %d for each of at most %d candidates", d.Chosen, len(d.Contexts), l.dim(), l.Candidates)
		case propensities && !(d.Propensity >= leastPropensity && d.Propensity <= 1):
			wrong = fmt.Sprintf("the propensity %v, want %v to 1 (0 is not known: estimate it)", d.Propensity, leastPropensity)
		case d.Reward*0 != 0 || d.SamplingWeight != 0 && !(d.SamplingWeight >= leastSampling && d.SamplingWeight <= mostSampling):
			wrong = fmt.Sprintf("the reward %v and the sampling weight %v, want finite ones, and weights of %v to %v", d.Reward, d.SamplingWeight, leastSampling, mostSampling)
		case slices.ContainsFunc(d.Contexts, func(x float32) bool { return x*0 != 0 }):
			wrong = "a feature that is NaN or infinite"
		default:
			continue
		}
		return fmt.Errorf("logged: decision %.200q has %s", d.ID, wrong)
	}
	return nil
}

// explained is an error of a policy or model with the extremes of the log, which are often the reason; that of ctx
// before it; nil without either.
func (l *Log) explained(ctx context.Context, where string, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	feature, reward, propensity := float32(0), float32(0), 1.0
	for _, d := range l.Decisions {
		x := l.Contexts(d)
		feature, reward, propensity = max(feature, slices.Max(x), -slices.Min(x)), max(reward, d.Reward, -d.Reward), min(propensity, d.Propensity)
	}
	return fmt.Errorf("logged: %.300s: %w (the log has features up to %.3g and rewards up to %.3g in size, and propensities from %.3g, where 0 is not known)", where, err, feature, reward, propensity)
}

// step is a decision as that of several runs, all of which have made the logged choice.
func (l *Log) step(d Decision, runs int) envs.Transition {
	return envs.Transition{
		Observation: l.observation(slices.Repeat([]Decision{d}, runs)),
		Actions:     slices.Repeat([]int{d.Chosen}, runs),
		Outcome:     envs.Outcome{Reward: slices.Repeat([]float32{d.Reward}, runs)},
	}
}

// observation is that of a decision a run.
func (l *Log) observation(decisions []Decision) envs.Observation {
	o := envs.Observation{Runs: len(decisions), Candidates: l.Candidates, Dim: len(l.Features)}
	o.Contexts = make([]float32, o.Runs*o.Candidates*o.Dim)
	for r, d := range decisions {
		copy(o.Contexts[r*o.Candidates*o.Dim:], l.Contexts(d))
		o.Sizes = append(o.Sizes, int32(l.size(d)))
	}
	return o
}

// sample is what estimates need of decisions, [N] each.
type sample struct {
	decisions        []Decision
	estimated        bool      // propensities are
	reward, sampling []float64 // of the choices; how many decisions each stands for, by their mean
	units            []int     // whose luck each decision shares: its user's, or its own where it has none
}

func (l *Log) sample() *sample {
	n, users := len(l.Decisions), map[string]int{}
	s := &sample{l.Decisions, l.estimated, make([]float64, n), make([]float64, n), make([]int, n)}
	for i, d := range l.Decisions {
		if _, known := users[d.User]; !known || d.User == "" {
			users[d.User] = i
		}
		s.reward[i], s.sampling[i], s.units[i] = float64(d.Reward), cmp.Or(d.SamplingWeight, 1), users[d.User]
	}
	floats.Scale(float64(len(s.units))/floats.Sum(s.sampling), s.sampling)
	return s
}
