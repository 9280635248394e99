package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

func TestScale(t *testing.T) {
	for _, test := range []struct {
		steps    int
		fraction float64
		want     int
	}{
		{20_000, 1, 20_000},
		{20_000, 0.1, 2000},
		{20_000, 2.5, 50_000},
		{1_001, 0.5, 501}, // 500.5 rounds away from zero
		{20_000, 1e-9, 10},
		{7, 1, 7},
		{7, 0.1, 7},
	} {
		e := lesson()
		e.Steps = test.steps
		scaled := e.Scale(test.fraction)
		if scaled.Steps != test.want || scaled.Name != e.Name || scaled.Runs != e.Runs || e.Steps != test.steps {
			t.Errorf("%d steps by %v: %+v, want %d steps", test.steps, test.fraction, scaled, test.want)
		}
	}
	for _, fraction := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("scale %v did not panic", fraction)
				}
			}()
			lesson().Scale(fraction)
		}()
	}
	if err := lesson().Scale(1e300).Validate(); err == nil {
		t.Error("1e300 times the steps are valid")
	}
}

// Errors of the declaration name field and value, and come before anything is
// written.
func TestInvalid(t *testing.T) {
	for _, test := range []struct {
		text   string
		change func(e *sim.Experiment, opt *sim.Options)
	}{
		{`Name is ""`, func(e *sim.Experiment, _ *sim.Options) { e.Name = "" }},
		{`Name is "a/b"`, func(e *sim.Experiment, _ *sim.Options) { e.Name = "a/b" }},
		{`Name is ".."`, func(e *sim.Experiment, _ *sim.Options) { e.Name = ".." }},
		{`Name is "a b"`, func(e *sim.Experiment, _ *sim.Options) { e.Name = "a b" }},
		{`Problem is nil`, func(e *sim.Experiment, _ *sim.Options) { e.Problem = nil }},
		{`Runs is 0`, func(e *sim.Experiment, _ *sim.Options) { e.Runs = 0 }},
		{`Runs is 100001`, func(e *sim.Experiment, _ *sim.Options) { e.Runs = 100_001 }},
		{`Steps is -3`, func(e *sim.Experiment, _ *sim.Options) { e.Steps = -3 }},
		{`Steps is 2000000000`, func(e *sim.Experiment, _ *sim.Options) { e.Steps = 2_000_000_000 }},
		{`Contenders is empty`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders = nil }},
		{`Contenders[1].Name is ""`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders[1].Name = "" }},
		{`Contenders[1].Name is "a/b"`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders[1].Name = "a/b" }},
		{`Contenders[1].Name is "a\nb"`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders[1].Name = "a\nb" }},
		{`Contenders[1].Name is " a"`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders[1].Name = " a" }},
		{`Contenders[1].Name is "slow student", which another`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders[1].Name = "slow student" }},
		{`Contenders[1].Algorithm ("ε = 0.1 & quick") is nil`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders[1].Algorithm = nil }},
		{`Problem is nil`, func(e *sim.Experiment, _ *sim.Options) { e.Problem = (*field)(nil) }},
		{`Contenders[1].Algorithm ("ε = 0.1 & quick") is nil`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders[1].Algorithm = (*student)(nil) }},
		{`student cannot be recorded as JSON: Rate is NaN`, func(e *sim.Experiment, _ *sim.Options) { e.Contenders[1].Algorithm = student{Rate: math.NaN()} }},
		{`thoughtful cannot be recorded as JSON: Depths[1] is -Inf`, func(e *sim.Experiment, _ *sim.Options) {
			e.Contenders[1].Algorithm = thoughtful{Depths: []float64{1, math.Inf(-1)}}
		}},
		{`expert cannot be recorded as JSON: Habit.Rate is +Inf`, func(e *sim.Experiment, _ *sim.Options) {
			e.Contenders[1].Algorithm = &expert{Habit: habit{Rate: math.Inf(1)}}
		}},
		{`"slow student" and "Slow, student!" have the same setting and would share the file slow-student-`, func(e *sim.Experiment, _ *sim.Options) {
			e.Contenders[1] = sim.Contender{Name: "Slow, student!", Algorithm: e.Contenders[0].Algorithm}
		}},
		{`Options.Workers is -1`, func(_ *sim.Experiment, opt *sim.Options) { opt.Workers = -1 }},
		{`Options.Stack is -1`, func(_ *sim.Experiment, opt *sim.Options) { opt.Stack = -1 }},
		{`Options.Version`, func(_ *sim.Experiment, opt *sim.Options) { opt.Version = "1\n# seed: 4" }},
		{`Options.Backend`, func(_ *sim.Experiment, opt *sim.Options) { opt.Backend = strings.Repeat("x", 201) }},
	} {
		e, opt := lesson(), sim.Options{}
		test.change(&e, &opt)
		dir := filepath.Join(t.TempDir(), "results")
		results, err := e.Run(context.Background(), sim.Store{Dir: dir}, opt)
		if err == nil || !strings.Contains(err.Error(), test.text) || results != nil {
			t.Errorf("%d results and error %v, want %q", len(results), err, test.text)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder is there", test.text)
		}
	}
}

// A setting of which JSON says nothing would let two algorithms share a result.
func TestSettingsNotRecorded(t *testing.T) {
	type inner struct{ Depth, depth int }
	for _, test := range []struct {
		field     string // "" where all is told
		algorithm envs.Algorithm
	}{
		{"rate is not exported", struct {
			student
			rate float64
		}{}},
		{"Inner.depth is not exported", struct {
			student
			Inner inner
		}{}},
		{"List[1].depth is not exported", struct {
			student
			List []*inner
		}{List: []*inner{nil, {}}}},
		{"Map[a].depth is not exported", struct {
			student
			Map map[string]inner
		}{Map: map[string]inner{"a": {}}}},
		{"inner.depth is not exported", struct {
			student
			inner
		}{}},
		{"count is not exported", struct {
			student
			count
		}{}},
		{"Inner is of the interface type envs.Algorithm", struct {
			student
			Inner envs.Algorithm
		}{Inner: student{}}},
		{"Choose is a func(int) int", struct {
			student
			Choose func(int) int
		}{Choose: func(n int) int { return n }}},
		{"Speed has the name of another field", struct {
			student
			Speed float64 `json:"Rate"`
		}{}},
		{"Width is left out by the MarshalJSON of the embedded sim_test.Habitual", struct {
			Habitual
			Width float64
		}{Width: 1}},
		{"Twice.Width is left out by the MarshalJSON of the embedded sim_test.Habitual", struct {
			student
			Twice struct {
				Habitual
				Width float64
			}
		}{}},

		{"", struct {
			student
			Log, hidden string `json:"-"`
		}{}},
		{"", struct {
			Habitual
			Log string `json:"-"`
		}{}},
		{"", Habitual{}},
		{"", expert{}},
		{"", struct {
			student
			Pause time.Duration
			Since time.Time
			List  [2]struct{ X int }
			Maybe *float64
			Table map[string][]float64
		}{}},
	} {
		e := lesson()
		e.Contenders[1].Algorithm = test.algorithm
		err := e.Validate()
		if test.field == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "cannot be recorded as JSON: "+test.field) {
			t.Errorf("error %v, want that %s", err, test.field)
		}
	}
}

// count is a setting that is no struct.
type count int

// Habitual writes its own JSON.
type Habitual struct {
	student
	depth int
}

func (h Habitual) MarshalJSON() ([]byte, error) {
	return []byte(fmt.Sprintf(`{"Rate":%v,"Depth":%d}`, h.Rate, h.depth)), nil
}

// habit writes its own JSON, which has no form for what is not finite.
type habit struct{ Rate float64 }

func (h habit) MarshalJSON() ([]byte, error) { return json.Marshal(h.Rate) }

type expert struct {
	student
	Habit habit
}

type thoughtful struct {
	student
	Depths []float64
}

// Types of one name in two modules are two types; those of this module have the
// names that stored results have.
func TestTypeName(t *testing.T) {
	for want, v := range map[string]any{
		"envs.Linear":    envs.Linear{},
		"sim_test.habit": habit{},
		"math/big.Float": big.Float{},
		"time.Duration":  time.Second,
		"struct {}":      struct{}{},
	} {
		if got := sim.TypeName(reflect.TypeOf(v)); got != want {
			t.Errorf("the name is %s, want %s", got, want)
		}
	}
}
