package main

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs/sim"
)

// 1,000 of 5,000 run-steps come from the store and take no time. 1,000 more in
// 10 seconds are 100 a second, and 3,000 remain: 30 seconds.
func TestProgressLines(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := &program{stderr: &b}
	g := p.newProgress(func() time.Time { return now })
	status := func(after time.Duration, contender string, done int64, regret float64) {
		now = now.Add(after)
		g.update(sim.Status{Experiment: "toy", Contender: contender, Done: done, Total: 5000, Served: 1000, Regret: regret, Reward: 0.5})
	}
	status(0, "", 1000, math.NaN())
	status(time.Second, "a", 1100, 3)
	status(time.Second, "a", 1200, 4)
	status(8*time.Second, "a", 2000, 5.25) // 10 s, but 9 since the last line
	status(time.Second, "a", 2000, 5.25)
	status(time.Second, "b", 3000, math.NaN())
	status(time.Second, "a", 3000, 6)
	g.close()
	const want = ` 22 %  toy  a  regret 3.0  100 steps/s  39s left
 40 %  toy  a  regret 5.2  91 steps/s  33s left
 60 %  toy  b  reward 0.5 a step  167 steps/s  12s left
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

func TestNothingToPlay(t *testing.T) {
	var b bytes.Buffer
	g := (&program{stderr: &b}).newProgress(time.Now)
	g.update(sim.Status{Experiment: "toy", Contender: "a", Done: 50, Total: 50, Served: 50})
	if b.Len() > 0 {
		t.Errorf("served from the store, it says %q", &b)
	}
}
