package neural

import (
	"cmp"
	"fmt"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/envs"
)

// Settings are those of a value network and of its training. The zero value is
// the paper's for the toy problems (section 6.2), where it states one.
type Settings struct {
	Hidden      []int   // units of the hidden layers, ReLU; default 10
	Rate        float64 // Adam's learning rate; default 0.01
	BatchSize   int     // B, history steps an update; default 64
	UpdateEvery int     // environment steps an update; default 1

	// Discount is gamma, in [0, 1]; default 0, which is a bandit. It counts in
	// problems with sessions only.
	Discount float64

	// Backend runs the graphs; default: compute.New(), which the importer of a
	// backend chooses. On the Go backend it must be pgcr.SequentialGo, or at
	// least have the option ops_sequential.
	Backend compute.Backend `json:"-"`
}

func (s Settings) withDefaults() Settings {
	if s.Hidden == nil {
		s.Hidden = []int{10}
	}
	s.Rate = cmp.Or(s.Rate, 0.01)
	s.BatchSize = cmp.Or(s.BatchSize, 64)
	s.UpdateEvery = cmp.Or(s.UpdateEvery, 1)
	return s
}

// check returns an error that names the first bad setting of the algorithm.
func (s Settings) check(algorithm string) error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("neural: %s.%s is %v, want %s", algorithm, field, value, want)
	}
	const layers = "1 to 16 layers of 1 to 65536 units"
	if len(s.Hidden) == 0 || len(s.Hidden) > 16 {
		return bad("Hidden", s.Hidden, layers)
	}
	for _, units := range s.Hidden {
		if units < 1 || units > 1<<16 {
			return bad("Hidden", s.Hidden, layers)
		}
	}
	switch {
	case !(s.Rate > 0 && s.Rate <= 10):
		return bad("Rate", s.Rate, "a learning rate in (0, 10]")
	case s.BatchSize < 1 || s.BatchSize > 1<<20:
		return bad("BatchSize", s.BatchSize, "1 to 1048576")
	case s.UpdateEvery < 1:
		return bad("UpdateEvery", s.UpdateEvery, "at least 1")
	case !(s.Discount >= 0 && s.Discount <= 1):
		return bad("Discount", s.Discount, "0 to 1")
	}
	return nil
}

// checkProblem returns an error unless policies can be made for the problem.
func checkProblem(algorithm string, spec envs.Spec, seeds []uint64) error {
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("neural: %s: %w", algorithm, err)
	}
	if len(seeds) == 0 {
		return fmt.Errorf("neural: %s needs at least one seed", algorithm)
	}
	return nil
}
