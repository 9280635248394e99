package envtest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

// typos is a problem of three candidates with two features, somebody's first
// try: one of its functions does more than it should.
type typos struct {
	In   string
	line *int // of the mistake
}

// slip makes the mistake where it is to be made: it takes a feature that is not
// there.
func (p typos) slip(in string, features []float32) float32 {
	if p.In != in {
		return 0
	}
	_, _, line, _ := runtime.Caller(0)
	*p.line = line + 2
	return features[len(features)]
}

func (p typos) Spec() envs.Spec {
	p.slip("Spec", nil)
	return envs.Spec{Candidates: 3, Dim: 2}
}

func (p typos) New(seeds []uint64) (envs.Environment, error) {
	p.slip("New", nil)
	return envs.FromLaw(envs.Spec{Candidates: 3, Dim: 2}, seeds, func(uint64) envs.Law {
		p.slip("law", nil)
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) {
				for i := range contexts {
					contexts[i] = rng.Float32()
				}
				p.slip("Offer", contexts)
			},
			Expected: func(context []float32) float64 {
				p.slip("Expected", context)
				return float64(context[0])
			},
			Reward: func(expected float64, rng *rand.Rand) float64 {
				if p.In == "rng" {
					_, _, line, _ := runtime.Caller(0)
					*p.line = line + 2
					return float64(rng.IntN(int(expected)))
				}
				p.slip("Reward", nil)
				return envs.Coin(expected, rng)
			},
		}
	})
}

// slipping is an algorithm whose policies make mistakes.
type slipping struct {
	baselines.Random
	typos
}

func (a slipping) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	policy, err := a.Random.New(spec, seeds)
	return slippingPolicy{policy, a.typos}, err
}

type slippingPolicy struct {
	envs.Policy
	typos
}

func (p slippingPolicy) Act(dst []int, obs envs.Observation) error {
	p.slip("Act", obs.Contexts)
	return p.Policy.Act(dst, obs)
}

func (p slippingPolicy) Update(tr envs.Transition) error {
	p.slip("Update", tr.Contexts)
	return p.Policy.Update(tr)
}

// misshapen is an algorithm whose policies multiply matrices of shapes that do not
// fit, which the package mat refuses.
type misshapen struct {
	baselines.Random
	line *int // of the mistake
}

func (a misshapen) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	policy, err := a.Random.New(spec, seeds)
	return misshapenPolicy{policy, a.line}, err
}

type misshapenPolicy struct {
	envs.Policy
	line *int
}

func (p misshapenPolicy) Act(dst []int, obs envs.Observation) error {
	a := mat.NewDense(2, 3, nil)
	_, _, line, _ := runtime.Caller(0)
	*p.line = line + 2
	a.Mul(a, a)
	return p.Policy.Act(dst, obs)
}

// Of a panic in a dependency, the implementation's line is told, and the error
// that the dependency has panicked with is there to be asked for.
func TestPanicInDependency(t *testing.T) {
	_, file, _, _ := runtime.Caller(0)
	line := 0
	checks := envtest.CheckAlgorithm(misshapen{line: &line}, typos{})
	if len(checks) != 1 || checks[0].Err == nil {
		t.Fatalf("the checks are %v", checks)
	}
	err := checks[0].Err
	want := fmt.Sprintf("panic: %v, at %s:%d (github.com/contextrec/contextrec/envs/envtest_test.misshapenPolicy.Act), in the call Act(", mat.ErrShape, file, line)
	if !strings.Contains(err.Error(), want) {
		t.Errorf("the error is\n%v\nwant\n%s", err, want)
	}
	if !errors.Is(err, mat.ErrShape) {
		t.Errorf("%v is not mat.ErrShape", err)
	}
}

// A panic of the implementation tells what it is, where, and in which call, on
// one line, and nothing of the way there.
func TestPanicsTellTheCall(t *testing.T) {
	const own = "github.com/contextrec/contextrec/envs/envtest_test."
	const slip = own + "typos.slip"
	const none, many = "runtime error: index out of range [0] with length 0", "runtime error: index out of range [%d] with length %[1]d"
	for _, test := range []struct {
		in, text, where, call string
	}{
		{"Spec", none, slip, "Spec()"},
		{"New", none, slip, "New(seeds [R = 3])"},
		{"law", none, slip + "), in law(seed", "New(seeds [R = 3])"},
		{"Offer", fmt.Sprintf(many, 6), slip + "), in Law.Offer(contexts [M·D = 3·2], rng", "New(seeds [R = 3])"},
		{"Expected", fmt.Sprintf(many, 2), slip + "), in Law.Expected(context [D = 2]", "Step(actions [R = 3])"},
		{"Reward", none, slip + "), in Law.Reward(expected, rng", "Step(actions [R = 3])"},
		// Of what the standard library refuses, the line that asked for it.
		{"rng", "invalid argument to IntN", own + "typos.New.", "Step(actions [R = 3])"},
		{"Act", fmt.Sprintf(many, 18), slip, "Act(dst [R = 3], obs [R, M, D = 3, 3, 2])"},
		{"Update", fmt.Sprintf(many, 18), slip, "Update(tr [R, M, D = 3, 3, 2], actions and outcome [R = 3])"},
	} {
		_, file, _, _ := runtime.Caller(0)
		p := typos{test.in, new(int)}
		checks := envtest.CheckProblem(p)
		if test.in == "Act" || test.in == "Update" {
			checks = envtest.CheckAlgorithm(slipping{typos: p}, typos{})
		}
		if len(checks) != 1 || checks[0].Err == nil {
			t.Errorf("%s: the checks are %v", test.in, checks)
			continue
		}
		got := checks[0].Err.Error()
		_, got, ok := strings.Cut(got, "panic: ")
		if !ok {
			t.Errorf("%s: the error is %v, and tells no panic", test.in, checks[0].Err)
			continue
		}
		begin := fmt.Sprintf("%s, at %s:%d (%s", test.text, file, *p.line, test.where)
		end := "), in the call " + test.call
		if !strings.HasPrefix(got, begin) || !strings.HasSuffix(got, end) || strings.Contains(got, "\n") {
			t.Errorf("%s: the error is\n%s\nwant\n%s%s", test.in, got, begin, end)
		}
	}
}
