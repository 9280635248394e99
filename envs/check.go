package envs

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

// Check plays 100 steps of four runs of a problem at random and returns what CheckSteps says of them,
// and which of the algorithms assume other rewards (Ranged; of an algorithm with a method Unwrap that
// of the one within). A problem that fails, panics or does not keep to its spec is an error.
func Check(p Problem, algorithms ...Algorithm) (warnings []string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("envs: the problem fails where four runs are played together: %v", v)
		}
	}()
	env, err := p.New([]uint64{1, 2, 3, 4})
	if err != nil {
		return nil, err
	}
	rng, actions, least, largest := NewRand(1, "check"), make([]int, 4), float32(math.Inf(1)), float32(math.Inf(-1))
	warnings = CheckSteps(p.Spec(), func(yield func(Transition) bool) {
		for range 100 {
			tr := Transition{Observation: env.Observe(), Actions: actions}
			for r := range actions {
				actions[r] = rng.IntN(tr.Size(r))
			}
			if tr.Outcome, err = env.Step(actions); err != nil || !yield(tr) {
				return
			}
			least, largest = min(least, slices.Min(tr.Reward)), max(largest, slices.Max(tr.Reward))
		}
	})
	for _, a := range algorithms {
		if within, ok := a.(interface{ Unwrap() Algorithm }); ok {
			a = within.Unwrap()
		}
		if a, ok := a.(Ranged); ok {
			if low, high := a.RewardRange(); least < low || largest > high {
				warnings = append(warnings, fmt.Sprintf("%T assumes rewards in [%v, %v], and these are from %.3g to %.3g: shift and divide them",
					a, low, high, least, largest))
			}
		}
	}
	return slices.Compact(warnings), err
}

// CheckSteps looks at steps, a few hundred decisions of a log say, and returns what cannot be learned
// from them, or not by default settings, with remedies. It is silent on all else, and stops after
// some millions of features. Without names, features are counted from 0.
func CheckSteps(spec Spec, steps iter.Seq[Transition], names ...string) (warnings []string) {
	const far, outlier, most = 20, 100, 1 << 22
	var rewards []float32
	single, features, same := 0, make([][]float32, spec.Dim), slices.Repeat([]bool{true}, spec.Dim)
	for tr := range steps {
		if err := tr.Check(spec, tr.Runs); err != nil {
			return []string{err.Error()}
		}
		rewards = append(rewards, tr.Reward...)
		for r := range tr.Runs {
			if tr.Size(r) == 1 {
				single++
			}
			for k := range tr.Size(r) {
				for j, x := range tr.Context(r, k) {
					features[j] = append(features[j], x)
					same[j] = same[j] && alike(x, tr.Context(r, 0)[j])
				}
			}
		}
		if len(features[0])*spec.Dim > most {
			break
		}
	}
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if 10*single > len(rewards) {
		warn("%d of %d sets have one candidate, which leaves nothing to choose: leave them out", single, len(rewards))
	}
	switch constant, typical, largest := sizes(rewards); {
	case constant:
		warn("all rewards are %v: there is nothing to learn", rewards[0])
	case largest > outlier*typical:
		warn("a reward has the size %.3g, where %.3g is typical: bound rewards, or take logarithms", largest, typical)
	case typical > far || typical < 1./far:
		warn("rewards are of the size %.3g, and default settings are for about 1: divide them by it", typical)
	}
	var groups [4][]string
	for j := range features {
		name := fmt.Sprint(j)
		if j < len(names) {
			name = fmt.Sprintf("%.100s", names[j])
		}
		constant, typical, largest := sizes(features[j])
		if constant && j >= spec.State {
			groups[0] = append(groups[0], name)
		} else if same[j] && j >= spec.State && single < len(rewards) {
			groups[1] = append(groups[1], name)
		}
		if largest > outlier*typical {
			groups[2] = append(groups[2], fmt.Sprintf("%s (up to %.3g, where %.3g is typical)", name, largest, typical))
		} else if typical > far || typical < 1./far && typical > 0 {
			groups[3] = append(groups[3], fmt.Sprintf("%s (%.3g)", name, typical))
		}
	}
	for i, text := range []string{
		"are the same in all contexts, which teaches nothing: leave them out",
		"are the same for all candidates of a set, so that linear scores can use their products with features of the candidates alone",
		"have outliers: bound them, or take logarithms",
		"are far from 1 in size, and default settings are for about 1: divide each by its size",
	} {
		if n := len(groups[i]); n > 0 {
			warn("%d of %d features %s: %s", n, spec.Dim, text, strings.Join(groups[i][:min(n, 5)], ", "))
		}
	}
	return warnings
}

// alike returns whether numbers differ by no more than rounding.
func alike(x, y float32) bool { return math.Abs(float64(x-y)) <= 1e-6*math.Abs(float64(y)) }

// sizes returns whether values are the same, and of their absolute values that are not 0 the median
// and the largest; 0 where all are.
func sizes(values []float32) (constant bool, median, largest float64) {
	var absolute []float64
	for _, x := range values {
		if x != 0 {
			absolute = append(absolute, math.Abs(float64(x)))
		}
	}
	slices.Sort(absolute)
	if n := len(absolute); n > 0 {
		median, largest = absolute[n/2], absolute[n-1]
	}
	return len(values) > 0 && alike(slices.Min(values), slices.Max(values)), median, largest
}
