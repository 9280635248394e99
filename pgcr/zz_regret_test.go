package pgcr_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	_ "github.com/gomlx/compute/gobackend"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

func TestRegretNow(t *testing.T) {
	steps, _ := strconv.Atoi(os.Getenv("STEPS"))
	if steps == 0 {
		t.Skip()
	}
	for name, p := range map[string]envs.Problem{"linear": envs.Linear{}, "bernoulli": envs.Bernoulli{}, "mixed": envs.Mixed{}} {
		if only := os.Getenv("ONLY"); only != "" && only != name {
			continue
		}
		seeds := make([]uint64, 20)
		for i := range seeds {
			seeds[i] = uint64(i + 1)
		}
		env, _ := p.New(seeds)
		pol, err := pgcr.Config{}.New(p.Spec(), seeds)
		if err != nil {
			t.Fatal(err)
		}
		regret := make([]float64, 20)
		exp := make([]float64, 100)
		actions := make([]int, 20)
		begin := time.Now()
		for range steps {
			obs := env.Observe()
			env.(envs.Oracle).ExpectedRewards(exp)
			if err := pol.Act(actions, obs); err != nil {
				t.Fatal(err)
			}
			for r, a := range actions {
				best := math.Inf(-1)
				for i := range 5 {
					best = max(best, exp[r*5+i])
				}
				regret[r] += best - exp[r*5+a]
			}
			out, err := env.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			if err := pol.Update(envs.Transition{Observation: obs, Actions: actions, Outcome: out}); err != nil {
				t.Fatal(err)
			}
		}
		var s, q float64
		for _, r := range regret {
			s += r / 20
			q += r * r / 20
		}
		fmt.Printf("%s %d steps: regret %.1f se %.1f  %v a run-step %+v\n", name, steps, s, math.Sqrt((q-s*s)/19), time.Since(begin)/time.Duration(20*steps), pol.(*pgcr.Agent).Diagnostics())
	}
}
