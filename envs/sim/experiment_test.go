package sim_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		{1_001, 0.5, 501}, // 500.5 rounds away from zero
		{20_000, 1e-9, 10},
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
		{`experiment "": Name is not`, func(e *sim.Experiment, _ *sim.Options) { e.Name = "" }},
		{`experiment "a/b": Name is not`, func(e *sim.Experiment, _ *sim.Options) { e.Name = "a/b" }},
		{`experiment "..": Name is not`, func(e *sim.Experiment, _ *sim.Options) { e.Name = ".." }},
		{`Problem is nil`, func(e *sim.Experiment, _ *sim.Options) { e.Problem = nil }},
		{`Runs is 0`, func(e *sim.Experiment, _ *sim.Options) { e.Runs = 0 }},
		{`Runs is 100001`, func(e *sim.Experiment, _ *sim.Options) { e.Runs = 100_001 }},
		{`Steps is -3`, func(e *sim.Experiment, _ *sim.Options) { e.Steps = -3 }},
		{`Entries is empty`, func(e *sim.Experiment, _ *sim.Options) { e.Entries = nil }},
		{`Entries[1].Name is ""`, func(e *sim.Experiment, _ *sim.Options) { e.Entries[1].Name = "" }},
		{`Entries[1].Name is "a\nb"`, func(e *sim.Experiment, _ *sim.Options) { e.Entries[1].Name = "a\nb" }},
		{`Entries[1].Name is " a"`, func(e *sim.Experiment, _ *sim.Options) { e.Entries[1].Name = " a" }},
		{`Entries[1] is "slow student"`, func(e *sim.Experiment, _ *sim.Options) { e.Entries[1].Name = "slow student" }},
		{`with algorithm <nil>`, func(e *sim.Experiment, _ *sim.Options) { e.Entries[1].Algorithm = nil }},
		{`student cannot be recorded as JSON: json: unsupported value: NaN`, func(e *sim.Experiment, _ *sim.Options) { e.Entries[1].Algorithm = student{Rate: math.NaN()} }},
		{`Workers -1`, func(_ *sim.Experiment, opt *sim.Options) { opt.Workers = -1 }},
		{`Stack -1`, func(_ *sim.Experiment, opt *sim.Options) { opt.Stack = -1 }},
		{`Shard 0 of Shards 2`, func(_ *sim.Experiment, opt *sim.Options) { opt.Shards = 2 }},
		{`Fresh with Shards`, func(_ *sim.Experiment, opt *sim.Options) { opt.Fresh, opt.Shard, opt.Shards = true, 1, 2 }},
		{`Shard 3 of Shards 2`, func(_ *sim.Experiment, opt *sim.Options) { opt.Shard, opt.Shards = 3, 2 }},
		{`not enough for 99999 shards`, func(_ *sim.Experiment, opt *sim.Options) { opt.Shard, opt.Shards = 1, 99999 }},
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

// The numbers are the first 8 bytes, read little-endian, of what
// `printf 'contextrec problem 7 0' | sha256sum` prints, and likewise.
func TestSeeds(t *testing.T) {
	e := sim.Experiment{Seed: 7}
	if have := e.ProblemSeeds(0, 1)[0]; have != 0xff4006c1fd7c4302 {
		t.Errorf("problem seed of run 0 is %#x", have)
	}
	if have := e.ProblemSeeds(13, 1)[0]; have != 0xa65c8f16b65e098f {
		t.Errorf("problem seed of run 13 is %#x", have)
	}
	if have := e.PolicySeeds(0, 1)[0]; have != 0x73dfa1abda54008c {
		t.Errorf("policy seed of run 0 is %#x", have)
	}
	if have := (sim.Experiment{Seed: 8}).ProblemSeeds(0, 1)[0]; have != 0x5c94b5629f450bc9 {
		t.Errorf("problem seed of run 0 at seed 8 is %#x", have)
	}
	if !slices.Equal(e.ProblemSeeds(0, 20)[7:], e.ProblemSeeds(7, 13)) {
		t.Error("seeds depend on where one starts to count")
	}
}
