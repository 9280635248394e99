package nb

import (
	"math"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs/sim"
)

func TestProgress(t *testing.T) {
	for _, test := range []struct {
		st     sim.Status
		played int64
		took   time.Duration
		want   string
	}{
		// Nothing played yet: no rate, no time that is left.
		{sim.Status{Total: 1000}, 0, 0, "  0 %"},
		// 250,000 in 20 s are 12,500 a second; 500,000 are left, 40 s.
		{sim.Status{Total: 1_000_000, Done: 500_000, Served: 250_000, Entry: "PGCR", Regret: 12.345}, 250_000, 20 * time.Second,
			" 50 %   12500 run-steps/s   40s left   PGCR   regret 12.3"},
		// No oracle, no regret.
		{sim.Status{Total: 1000, Done: 1, Entry: "PGCR", Regret: math.NaN(), Reward: 0.25}, 1, time.Second,
			"  0 %   1 run-steps/s   16m39s left   PGCR   reward 0.25 a step"},
		{sim.Status{Total: math.MaxInt64, Done: 1}, 1, time.Hour, "  0 %   0 run-steps/s   277777h46m40s left"},
	} {
		if got := progress(test.st, test.played, test.took); got != test.want {
			t.Errorf("progress is %q, want %q", got, test.want)
		}
	}
}
