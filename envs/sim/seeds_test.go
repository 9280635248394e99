package sim_test

import (
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

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
