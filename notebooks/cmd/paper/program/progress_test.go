package main

import (
	"bytes"
	"io"
	"math"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
)

// 1,000 of 5,000 run-steps come from the store and take no time. 1,000 more in
// 10 seconds are 100 a second, and 3,000 remain: 30 seconds.
func TestProgressLines(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := &program{Host: cli.NewHost(io.Discard, &b)}
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
	g := (&program{Host: cli.NewHost(io.Discard, &b)}).newProgress(time.Now)
	g.update(sim.Status{Experiment: "toy", Contender: "a", Done: 50, Total: 50, Served: 50})
	if b.Len() > 0 {
		t.Errorf("served from the store, it says %q", &b)
	}
}

// One worker, contenders of 0.1 and 0.01 seconds a step, 1,000 run-steps each:
// 110 seconds in all, less 50 for the 500 that are stored of the first. After 10
// seconds 200 steps of it are played, worth 20 seconds: together with the 30
// seconds for which the expectation counts, that is a speed of 50/40, and the 40
// that remain take 32. At the end nothing is left.
func TestForecast(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	g := (&program{Host: cli.NewHost(io.Discard, &b)}).newProgress(func() time.Time { return now })
	g.byReward = true
	g.expect(&forecast{contenders: []string{"slow", "quick"}, costs: []float64{0.1, 0.01}, perContender: 1000, workers: 1})
	status := func(after time.Duration, contender string, done int64) {
		now = now.Add(after)
		// A third contender was there already.
		g.update(sim.Status{Experiment: "music", Contender: contender, Done: done, Total: 3000, Served: 1500, Regret: 7, Reward: 0.5})
	}
	status(0, "", 1500)
	status(10*time.Second, "slow", 1700)
	status(10*time.Second, "quick", 3000)
	const want = ` 50 %  music  1m0s left
 57 %  music  slow  reward 0.5 a step  32s left
100 %  music  quick  reward 0.5 a step  0s left
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

func TestReadable(t *testing.T) {
	for d, want := range map[time.Duration]string{
		19400 * time.Millisecond: "19s", 95 * time.Second: "1m35s", 34*time.Minute + 40*time.Second: "35m",
		2*time.Hour + 8*time.Minute: "2h10m", 3*time.Hour + time.Minute: "3h", 100*time.Hour + 40*time.Minute: "101h",
	} {
		if got := readable(d); got != want {
			t.Errorf("%v is written as %s, want %s", d, got, want)
		}
	}
}
