package logged_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/logged"
)

// scripted is a policy that chooses what a function of the contexts of a run
// says, and keeps what it is told.
type scripted struct {
	choose func(run, draw int, contexts []float32) int
	draws  int
	told   []string
}

func (s *scripted) New(envs.Spec, []uint64) (envs.Policy, error) { return s, nil }

func (s *scripted) Act(dst []int, obs envs.Observation) error {
	size := obs.Candidates * obs.Dim
	for r := range dst {
		dst[r] = s.choose(r, s.draws, obs.Contexts[r*size:(r+1)*size])
	}
	s.draws++
	return nil
}

func (s *scripted) Update(tr envs.Transition) error {
	tr.Check(envs.Spec{Candidates: tr.Candidates, Dim: tr.Dim}, tr.Runs)
	if err := tr.Finite(); err != nil {
		return err
	}
	s.told = append(s.told, fmt.Sprint(tr.Contexts, tr.Session, tr.Actions, tr.Reward, tr.Discount))
	return nil
}

// always chooses one candidate.
func always(c int) *scripted {
	return &scripted{choose: func(int, int, []float32) int { return c }}
}

// four decisions of two candidates with one feature, whose number tells them.
func four() *logged.Log {
	return &logged.Log{
		Candidates: 2, Dim: 1, Features: []string{"x"},
		ID: []string{"a", "b", "c", "d"}, User: []string{"u", "u", "v", "w"},
		Contexts: []float32{0, 1, 10, 11, 20, 21, 30, 31},
		Chosen:   []int{0, 1, 0, 1}, Reward: []float32{1, 3, 2, 5}, Propensity: []float64{0.5, 0.25, 0.25, 0.8},
	}
}

func evaluate(t *testing.T, log *logged.Log, policy envs.Policy, runs, draws int) *logged.Evaluation {
	t.Helper()
	e, err := logged.Evaluate(context.Background(), log, policy, runs, draws)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func checkNumber(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestTrain(t *testing.T) {
	s := always(0)
	policy, err := logged.Train(context.Background(), four().Slice(1, 3), s, []uint64{1, 2})
	if err != nil || policy != envs.Policy(s) {
		t.Fatalf("policy %v, error %v", policy, err)
	}
	want := []string{
		"[10 11 10 11] [] [1 1] [3 3] [0 0]",
		"[20 21 20 21] [] [0 0] [2 2] [0 0]",
	}
	if !slices.Equal(s.told, want) {
		t.Errorf("it was told %q, want %q", s.told, want)
	}
}

// By hand: the policy that always takes candidate 0 agrees with decisions a and
// c, with the weights 1/0.5 = 2 and 1/0.25 = 4, which paid 1 and 2.
func TestEstimates(t *testing.T) {
	e := evaluate(t, four(), always(0), 1, 1)
	if want := []float64{2, 0, 4, 0}; !slices.Equal(e.Weight, want) {
		t.Errorf("weights %v, want %v", e.Weight, want)
	}
	if want := []float64{1, 0, 1, 0, 1, 0, 1, 0}; !slices.Equal(e.Choices, want) {
		t.Errorf("choices %v, want %v", e.Choices, want)
	}
	checkNumber(t, "value", e.Value([]float64{1, 100, 2, 100, 3, 100, 6, 100}), (1+2+3+6)/4.0)
	checkNumber(t, "value of the log", e.LoggedValue([]float64{1, 100, 2, 100, 3, 100, 6, 100}), (1+100+3+100)/4.0)

	// (2·1 + 4·2)/4. Less that, the decisions add -0.5, -2.5, 5.5, -2.5; the users
	// -3, 5.5, -2.5, with squares 9 + 30.25 + 6.25 = 45.5; so the variance is
	// 3/2·45.5/4². The t quantile of 2 degrees of freedom is 4.30265 (tables).
	ips := e.InversePropensity()
	checkNumber(t, "IPS", ips.Mean, 2.5)
	checkNumber(t, "its error", ips.Error, math.Sqrt(1.5*45.5/16))
	checkNumber(t, "its units", float64(ips.Units), 3)
	if half := ips.Mean - ips.Low; math.Abs(half/ips.Error-4.30265) > 1e-5 || math.Abs(ips.High-ips.Mean-half) > 1e-12 {
		t.Errorf("the interval is %v to %v with an error of %v", ips.Low, ips.High, ips.Error)
	}
	// (2 + 4)²/(4 + 16)
	checkNumber(t, "effective decisions", ips.Effective, 1.8)

	// 10/6 = 5/3. The decisions add w(r - 5/3)/1.5: 2·(-2/3)/1.5 = -8/9 and
	// 4·(1/3)/1.5 = 8/9, to the users u and v, and w has no weight: so there are two
	// units, and the variance is 2/1·2·(8/9)²/4². The t quantile of 1 degree of
	// freedom is 12.7062 (tables).
	snips := e.SelfNormalised()
	checkNumber(t, "SNIPS", snips.Mean, 5.0/3)
	checkNumber(t, "its error", snips.Error, math.Sqrt(2*2*64.0/81/16))
	checkNumber(t, "its units", float64(snips.Units), 2)
	if half := snips.High - snips.Mean; math.Abs(half/snips.Error-12.7062) > 1e-4 {
		t.Errorf("the interval is %v to %v with an error of %v", snips.Low, snips.High, snips.Error)
	}

	// Decisions a and c, as they are: 1 and 2.
	checkNumber(t, "where they agree", e.Agreeing().Mean, 1.5)
	checkNumber(t, "effective decisions where they agree", e.Agreeing().Effective, 2)

	checkNumber(t, "mean weight", e.MeanWeight().Mean, 1.5)
	checkNumber(t, "mean of the log", e.Logged().Mean, 11.0/4)
	checkNumber(t, "its effective decisions", e.Logged().Effective, 4)

	// Less the log's mean, of which the decisions add -1.75, 0.25, -0.75, 2.25,
	// the decisions add 1.25, -2.75, 6.25, -4.75; the users -1.5, 6.25, -4.75.
	d := ips.Minus(e.Logged())
	checkNumber(t, "the difference", d.Mean, 2.5-2.75)
	checkNumber(t, "its error", d.Error, math.Sqrt(1.5*(1.5*1.5+6.25*6.25+4.75*4.75)/16))
	checkNumber(t, "its effective decisions", d.Effective, 1.8)
	checkNumber(t, "the units of a difference from SNIPS", float64(e.Logged().Minus(snips).Units), 2)

	// Without users the decisions are the units: 0.25 + 6.25 + 30.25 + 6.25 = 43
	// and 4/3·43/4².
	log := four()
	log.User = nil
	ips = evaluate(t, log, always(0), 1, 1).InversePropensity()
	checkNumber(t, "the error over decisions", ips.Error, math.Sqrt(4.0/3*43/16))
	checkNumber(t, "units", float64(ips.Units), 4)

	// One user alone says nothing about the spread.
	log.User = []string{"u", "u", "u", "u"}
	if ips = evaluate(t, log, always(0), 1, 1).InversePropensity(); !math.IsInf(ips.Low, -1) || !math.IsInf(ips.High, 1) || ips.Units != 1 {
		t.Errorf("of one user: %+v", ips)
	}
}

// A policy of 2 runs, of which one takes candidate 0 and the other candidate 1
// in every second draw, takes candidate 1 in a quarter of 4 draws of both.
func TestDraws(t *testing.T) {
	e := evaluate(t, four(), &scripted{choose: func(run, draw int, _ []float32) int { return run * (draw % 2) }}, 2, 4)
	for i, p := range e.Choices {
		checkNumber(t, fmt.Sprint("choice ", i), p, []float64{0.75, 0.25}[i%2])
	}
	for i, w := range []float64{0.75 / 0.5, 0.25 / 0.25, 0.75 / 0.25, 0.25 / 0.8} {
		checkNumber(t, fmt.Sprint("weight ", i), e.Weight[i], w)
	}
}

func TestEvaluateErrors(t *testing.T) {
	ctx := context.Background()
	blind := four()
	blind.Propensity = nil
	if _, err := logged.Evaluate(ctx, blind, always(0), 1, 1); err == nil || !strings.Contains(err.Error(), "does not say how probable") {
		t.Errorf("without propensities: %v", err)
	}
	if err := blind.CheckEvaluable(); err == nil || !strings.Contains(err.Error(), "does not say how probable") {
		t.Errorf("without propensities, before anything is trained: %v", err)
	}
	if err := four().CheckEvaluable(); err != nil {
		t.Error(err)
	}
	never := &scripted{choose: func(_, _ int, c []float32) int { // the other one: a and c have 0, b and d have 1
		return 1 - int(c[0])/10%2
	}}
	if _, err := logged.Evaluate(ctx, four(), never, 1, 1); err == nil || !strings.Contains(err.Error(), "never makes a choice of the log") {
		t.Errorf("without agreement: %v", err)
	}
	if _, err := logged.Replay(ctx, four(), always(0), 1); err == nil || !strings.Contains(err.Error(), "decision b was made with probability 0.25 among 2 candidates") {
		t.Errorf("replay of a log that is not uniform: %v", err)
	}
	if _, err := logged.Replay(ctx, blind, always(0), 1); err == nil {
		t.Error("no error of replay without propensities")
	}
	uniform := four()
	uniform.Propensity = []float64{0.5, 0.5, 0.5, 0.5}
	if _, err := logged.Replay(ctx, uniform, never, 1); err == nil || !strings.Contains(err.Error(), "never makes a choice of the log") {
		t.Errorf("replay without agreement: %v", err)
	}
	for p, uniform := range map[float64]bool{0.33: true, 1.0 / 3: true, 0.34: true, 0.3: false, 0.36: false} {
		three := &logged.Log{
			Candidates: 3, Dim: 1, Features: []string{"x"}, ID: []string{"a"},
			Contexts: []float32{1, 2, 3}, Chosen: []int{0}, Reward: []float32{1}, Propensity: []float64{p},
		}
		if _, err := logged.Replay(ctx, three, always(0), 1); (err == nil) != uniform {
			t.Errorf("replay of a propensity of %v among 3: %v", p, err)
		}
	}
	broken := four()
	broken.Reward[2] = float32(math.NaN())
	if _, err := logged.Train(ctx, broken, always(0), []uint64{1}); err == nil || !strings.Contains(err.Error(), `decision "c"`) {
		t.Errorf("learning a NaN: %v", err)
	}
	if _, err := logged.Train(ctx, four(), baselines.LinUCB{Alpha: -7}, []uint64{1}); err == nil || !strings.Contains(err.Error(), "Alpha") {
		t.Errorf("a bad setting: %v", err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, err1 := logged.Train(stopped, four(), always(0), []uint64{1})
	_, err2 := logged.Evaluate(stopped, four(), always(0), 1, 1)
	_, err3 := logged.Replay(stopped, uniform, always(0), 1)
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after a cancel: %v", err)
		}
	}
}

func TestReplay(t *testing.T) {
	log := four()
	log.Propensity = []float64{0.5, 0.5, 0.5, 0.5}
	s := always(1)
	played, err := logged.Replay(context.Background(), log, s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(played.Decisions, []int{1, 3}) || !slices.Equal(played.Reward, []float32{3, 5}) {
		t.Errorf("played %v with rewards %v, want 1 and 3 with 3 and 5", played.Decisions, played.Reward)
	}
	// It learns from its steps and from nothing else.
	if want := []string{"[10 11] [] [1] [3] [0]", "[30 31] [] [1] [5] [0]"}; !slices.Equal(s.told, want) {
		t.Errorf("it was told %q, want %q", s.told, want)
	}
	// 4 with a standard deviation of sqrt(2), by sqrt(2).
	checkNumber(t, "mean", played.Mean().Mean, 4)
	checkNumber(t, "error", played.Mean().Error, 1)

	// All four decisions of the users u, u, v, w with mean 2.75: they add -1.75,
	// 0.25, -0.75, 2.25; the users -1.5, -0.75, 2.25, with squares 2.25 + 0.5625 +
	// 5.0625 = 7.875.
	log.Chosen = []int{1, 1, 1, 1}
	replay := func(log *logged.Log, policy *scripted) logged.Estimate {
		played, err := logged.Replay(context.Background(), log, policy, 1)
		if err != nil {
			t.Fatal(err)
		}
		return played.Mean()
	}
	mean := replay(log, always(1))
	checkNumber(t, "mean of users", mean.Mean, 2.75)
	checkNumber(t, "error of users", mean.Error, math.Sqrt(1.5*7.875/16))
	checkNumber(t, "users", float64(mean.Units), 3)

	// The steps of others are no steps to compare with: the policies play a and b,
	// or c and d.
	log.User = nil
	early := func(_, _ int, c []float32) int { return map[bool]int{true: 1, false: 0}[c[0] < 15] }
	late := func(_, _ int, c []float32) int { return map[bool]int{true: 0, false: 1}[c[0] < 15] }
	a, b := replay(log, &scripted{choose: early}), replay(log, &scripted{choose: late})
	checkPanic(t, `number 0 is "a" and "c"`, func() { a.Minus(b) })
	checkNumber(t, "the difference from itself", a.Minus(a).Error, 0)
}

func checkPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("it panics with %q, want %q", got, want)
		}
	}()
	f()
}

// Estimates of other decisions are not compared, whatever they have in common.
func TestMinusOfOthers(t *testing.T) {
	whole := four()
	whole.User = nil
	first, rest := whole.Split(0.5)
	mean := func(log *logged.Log) logged.Estimate { return evaluate(t, log, always(0), 1, 1).Logged() }
	checkPanic(t, `number 0 is "a" and "c"`, func() { mean(first).Minus(mean(rest)) })
	checkPanic(t, "from 4 and from 2 decisions", func() { mean(whole).Minus(mean(rest)) })
	checkPanic(t, "different users", func() { mean(whole).Minus(mean(four())) })
	other := four()
	other.User, other.Chosen = nil, []int{0, 1, 1, 1}
	checkPanic(t, `in "c", candidates 0 and 1`, func() { mean(whole).Minus(mean(other)) })
	// The same decisions, read again.
	checkNumber(t, "the difference", mean(four()).Minus(mean(four())).Error, 0)
}

// A policy that agrees with a log in one decision of 1,000 knows nothing of how
// rewards vary, nor does its difference from anything.
func TestOneAgreement(t *testing.T) {
	const n = 1000
	log := &logged.Log{
		Candidates: 2, Dim: 1, Features: []string{"x"},
		Contexts: make([]float32, 2*n), Chosen: make([]int, n), Reward: make([]float32, n), Propensity: make([]float64, n),
	}
	for i := range n {
		log.ID, log.Propensity[i], log.Reward[i] = append(log.ID, fmt.Sprint(i)), 0.5, float32(i%2)
		if i == 501 {
			log.Chosen[i] = 1
		}
	}
	e := evaluate(t, log, always(1), 1, 1)
	for what, got := range map[string]logged.Estimate{
		"SNIPS": e.SelfNormalised(), "where they agree": e.Agreeing(), "the difference": e.SelfNormalised().Minus(e.Logged()),
		"the other difference": e.Logged().Minus(e.SelfNormalised()),
	} {
		if !math.IsInf(got.Error, 1) || !math.IsInf(got.Low, -1) || !math.IsInf(got.High, 1) || got.Units != 1 {
			t.Errorf("%s: %v [%v, %v], error %v, %d units", what, got.Mean, got.Low, got.High, got.Error, got.Units)
		}
	}
	checkNumber(t, "SNIPS", e.SelfNormalised().Mean, 1)
}

// What is wrong with a log is said before anybody plays it.
func TestBadLogs(t *testing.T) {
	for want, spoil := range map[string]func(*logged.Log){
		`decision "b": the propensity is 0`:      func(l *logged.Log) { l.Propensity[1] = 0 },
		`decision "c": candidate 2 of 2`:         func(l *logged.Log) { l.Chosen[2] = 2 },
		"7 context values for 4 decisions":       func(l *logged.Log) { l.Contexts = l.Contexts[:7] },
		"logged: the log has no decisions":       func(l *logged.Log) { _, *l = split(l, 1) },
		"4 choices, 4 names, 4 users, 3 rewards": func(l *logged.Log) { l.Reward = l.Reward[:3] },
	} {
		log := four()
		spoil(log)
		ctx := context.Background()
		_, train := logged.Train(ctx, log, always(0), []uint64{1})
		_, evaluate := logged.Evaluate(ctx, log, always(0), 1, 1)
		_, replay := logged.Replay(ctx, log, always(0), 1)
		for what, err := range map[string]error{"Train": train, "Evaluate": evaluate, "Replay": replay} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error is %v, want %s", what, err, want)
			}
		}
	}
	if _, err := logged.Evaluate(context.Background(), four(), always(2), 1, 1); err == nil || !strings.Contains(err.Error(), "decision a: the policy chooses candidate 2 of 2") {
		t.Errorf("a policy that chooses what is not there: %v", err)
	}
}

func split(l *logged.Log, fraction float64) (first, rest logged.Log) {
	a, b := l.Split(fraction)
	return *a, *b
}

func TestSplit(t *testing.T) {
	log := four()
	first, rest := log.Split(0.6) // 2.4 decisions
	want := &logged.Log{
		Candidates: 2, Dim: 1, Features: []string{"x"}, ID: []string{"c", "d"}, User: []string{"v", "w"},
		Contexts: []float32{20, 21, 30, 31}, Chosen: []int{0, 1}, Reward: []float32{2, 5}, Propensity: []float64{0.25, 0.8},
	}
	if first.Len() != 2 || !slices.Equal(first.ID, []string{"a", "b"}) || !reflect.DeepEqual(rest, want) {
		t.Errorf("first %+v and rest %+v, want %+v", first, rest, want)
	}
	if c := log.Context(2, 1); !slices.Equal(c, []float32{21}) {
		t.Errorf("the context is %v, want 21", c)
	}
	for _, f := range []func(){func() { log.Slice(0, 5) }, func() { log.Slice(3, 2) }, func() { log.Split(1.1) }, func() { log.Split(math.NaN()) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

// Values 1, 3 have mean 2 and deviation 1, values 5, 5 no deviation.
func TestMoments(t *testing.T) {
	log := &logged.Log{
		Candidates: 2, Dim: 2, Features: []string{"a", "b"}, ID: []string{"1"},
		Contexts: []float32{1, 5, 3, 5}, Chosen: []int{0}, Reward: []float32{1},
	}
	m := log.Moments()
	if want := (logged.Moments{Mean: []float64{2, 5}, Deviation: []float64{1, 0}}); !reflect.DeepEqual(m, want) {
		t.Errorf("moments %v, want %v", m, want)
	}
	if got := log.Standardised(m).Contexts; !slices.Equal(got, []float32{-1, 0, 1, 0}) {
		t.Errorf("standardised %v", got)
	}
	if !slices.Equal(log.Contexts, []float32{1, 5, 3, 5}) {
		t.Errorf("standardising changed the log: %v", log.Contexts)
	}
	one := []float32{6, 7}
	if m.Standardise(one, one); !slices.Equal(one, []float32{4, 0}) {
		t.Errorf("standardised in place %v, want 4, 0", one)
	}
}

// A half without decisions says of what it is the half.
func TestEmptyPart(t *testing.T) {
	ctx := context.Background()
	one := four().Slice(0, 1)
	first, _ := one.Split(0.5)
	_, later := four().Split(1)
	nameless := four()
	nameless.User = nil
	unnamed, _ := nameless.Split(0.2)
	for want, err := range map[string]error{
		"it is the first part of Split(0.5) of a log of 1 decision of 1 user": func() error {
			_, err := logged.Train(ctx, first, always(0), []uint64{1})
			return err
		}(),
		"it is the later part of Split(1) of a log of 4 decisions of 3 users": later.CheckEvaluable(),
		"it is the first part of Split(0.2) of a log of 4 decisions":          unnamed.CheckEvaluable(),
		"it is Slice(2, 2) of a log of 4 decisions of 3 users":                four().Slice(2, 2).Standardised(four().Moments()).CheckEvaluable(),
		// What is taken of an empty part is as empty as that.
		"it is the first part of Split(0.5) of a log of 1 decision of 1 user ": first.Slice(0, 0).CheckEvaluable(),
	} {
		if want := "logged: the log has no decisions: " + strings.TrimSpace(want); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
