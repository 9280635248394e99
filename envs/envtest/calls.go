package envtest

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/contextrec/contextrec/envs"
)

// callPanic is a panic of the implementation, with what was asked of it.
type callPanic struct {
	call  string // with the shapes of its arguments
	value any
	where string // in the implementation, "" where it is not known
}

func (p *callPanic) Error() string {
	text := fmt.Sprintf("panic: %v", p.value)
	if p.where != "" {
		text += ", " + p.where
	}
	return text + ", in the call " + p.call
}

// Unwrap is what the implementation has panicked with, where that is an error.
func (p *callPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// naming is deferred by what calls the implementation of a problem of that spec:
// a panic goes on as a callPanic.
func naming(spec envs.Spec, call func() string) {
	if v := recover(); v != nil {
		panic(&callPanic{call(), v, panicPlace(spec)})
	}
}

// lawCall is the function of an envs.Law that a function of package envs calls,
// or "".
func lawCall(by string, spec envs.Spec) string {
	switch by {
	case "FromLaw":
		return "law(seed)"
	case "(*lawfulRun).offer":
		return fmt.Sprintf("Law.Offer(contexts [M·D = %d·%d], rng)", spec.Candidates, spec.Dim)
	case "(*lawfulRun).expect":
		return fmt.Sprintf("Law.Expected(context [D = %d])", spec.Dim)
	case "(*lawfulRun).draw":
		return "Law.Reward(expected, rng)"
	}
	return ""
}

// panicPlace is where the implementation has panicked: its innermost line that is
// not the standard library's, a dependency's or this module's protocol's, or, where
// all of it is a dependency, the dependency's; and the function of an envs.Law that
// it is in. It is called by a deferred function of this package.
func panicPlace(spec envs.Spec) string {
	const protocol = "github.com/contextrec/contextrec/envs."
	const suite = "github.com/contextrec/contextrec/envs/envtest."
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	root, panicked := "", false
	// The innermost line of all, of what is not the standard library's, and of the
	// implementation.
	var inner, foreign, own *runtime.Frame
	law := ""
	for {
		f, more := frames.Next()
		switch name, inProtocol := strings.CutPrefix(f.Function, protocol); {
		case f.Function == "runtime.gopanic":
			root, panicked = strings.TrimSuffix(f.File, "runtime/panic.go"), true
		case !panicked || strings.HasPrefix(f.Function, "runtime."):
		case strings.HasPrefix(f.Function, suite):
			more = false
		case inProtocol:
			if inner == nil {
				inner = &f
			}
			if law == "" {
				law = lawCall(name, spec)
			}
		case !isStandard(f, root):
			if foreign == nil {
				foreign = &f
			}
			if own == nil && !isDependency(f) {
				own = &f
			}
			fallthrough
		default:
			if inner == nil {
				inner = &f
			}
		}
		if !more {
			break
		}
	}
	place := cmp.Or(own, foreign, inner)
	if place == nil {
		return ""
	}
	text := fmt.Sprintf("at %s:%d (%s)", place.File, place.Line, place.Function)
	if law != "" {
		text += ", in " + law
	}
	return text
}

// isDependency tells a line of a module that somebody's own depends on: it lies in
// the cache of modules, in folders that have versions, or in a vendor folder.
func isDependency(f runtime.Frame) bool {
	return strings.Contains(f.File, "/pkg/mod/") || strings.Contains(f.File, "/vendor/") || strings.Contains(f.File, "@v")
}

// isStandard tells a line of the standard library, whose folder is root, or ""
// where a program was built without its folders' names.
func isStandard(f runtime.Frame, root string) bool {
	if root != "" {
		return strings.HasPrefix(f.File, root)
	}
	module, _, ok := strings.Cut(f.Function, "/")
	if !ok {
		module, _, _ = strings.Cut(f.Function, ".")
	}
	return module != "main" && !strings.Contains(module, ".")
}

// watchedProblem is a problem whose panics, and those of its environments, are
// callPanics.
type watchedProblem struct {
	envs.Problem
	spec envs.Spec
}

func (p watchedProblem) Spec() envs.Spec {
	defer naming(p.spec, func() string { return "Spec()" })
	return p.Problem.Spec()
}

func (p watchedProblem) New(seeds []uint64) (envs.Environment, error) {
	defer naming(p.spec, func() string { return fmt.Sprintf("New(seeds [R = %d])", len(seeds)) })
	env, err := p.Problem.New(seeds)
	if err != nil || env == nil {
		return env, err
	}
	watched := watchedEnvironment{p.spec, env}
	oracle, isOracle := env.(envs.Oracle)
	outcomes, hasOutcomes := env.(envs.PotentialOutcomes)
	switch {
	case isOracle && hasOutcomes:
		return struct {
			watchedEnvironment
			watchedOracle
			watchedOutcomes
		}{watched, watchedOracle{p.spec, oracle}, watchedOutcomes{p.spec, outcomes}}, nil
	case isOracle:
		return struct {
			watchedEnvironment
			watchedOracle
		}{watched, watchedOracle{p.spec, oracle}}, nil
	case hasOutcomes:
		return struct {
			watchedEnvironment
			watchedOutcomes
		}{watched, watchedOutcomes{p.spec, outcomes}}, nil
	}
	return watched, nil
}

type watchedEnvironment struct {
	spec envs.Spec
	env  envs.Environment
}

func (e watchedEnvironment) Observe() envs.Observation {
	defer naming(e.spec, func() string { return "Observe()" })
	return e.env.Observe()
}

func (e watchedEnvironment) Step(actions []int) (envs.Outcome, error) {
	defer naming(e.spec, func() string { return fmt.Sprintf("Step(actions [R = %d])", len(actions)) })
	return e.env.Step(actions)
}

type watchedOracle struct {
	spec   envs.Spec
	oracle envs.Oracle
}

func (o watchedOracle) ExpectedRewards(dst []float64) {
	defer naming(o.spec, func() string { return fmt.Sprintf("ExpectedRewards(dst [R·M = %d])", len(dst)) })
	o.oracle.ExpectedRewards(dst)
}

type watchedOutcomes struct {
	spec     envs.Spec
	outcomes envs.PotentialOutcomes
}

func (o watchedOutcomes) PotentialRewards(dst []float32) {
	defer naming(o.spec, func() string { return fmt.Sprintf("PotentialRewards(dst [R·M = %d])", len(dst)) })
	o.outcomes.PotentialRewards(dst)
}

// watchedAlgorithm is an algorithm whose panics, and those of its policies, are
// callPanics.
type watchedAlgorithm struct{ envs.Algorithm }

func (a watchedAlgorithm) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	defer naming(spec, func() string { return fmt.Sprintf("New(spec %+v, seeds [R = %d])", spec, len(seeds)) })
	policy, err := a.Algorithm.New(spec, seeds)
	if err != nil || policy == nil {
		return policy, err
	}
	return watchedPolicy{spec, policy}, nil
}

type watchedPolicy struct {
	spec   envs.Spec
	policy envs.Policy
}

func shapeOf(obs envs.Observation) string {
	return fmt.Sprintf("[R, M, D = %d, %d, %d]", obs.Runs, obs.Candidates, obs.Dim)
}

func (p watchedPolicy) Act(dst []int, obs envs.Observation) error {
	defer naming(p.spec, func() string { return fmt.Sprintf("Act(dst [R = %d], obs %s)", len(dst), shapeOf(obs)) })
	return p.policy.Act(dst, obs)
}

func (p watchedPolicy) Update(tr envs.Transition) error {
	defer naming(p.spec, func() string {
		return fmt.Sprintf("Update(tr %s, actions and outcome [R = %d])", shapeOf(tr.Observation), len(tr.Actions))
	})
	return p.policy.Update(tr)
}
