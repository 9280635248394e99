package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/contextrec/contextrec/envs/sim"
)

// progress shows how far an experiment is: a bar on a terminal, else lines, one
// when a contender begins and one every 10 seconds.
type progress struct {
	w     io.Writer
	now   func() time.Time
	bar   *progressbar.ProgressBar // nil: lines
	began time.Time                // first call
	wrote time.Time                // last line
	start int64                    // run-steps played until then
	seen  map[string]bool          // contenders

	forecast *forecast // nil: all steps take the same time
	byReward bool      // tell reward even where there is a regret
}

const linesEvery = 10 * time.Second

func (p *program) newProgress(now func() time.Time) *progress {
	g := &progress{w: p.Stderr, now: now, seen: map[string]bool{}}
	if isTerminal(p.Stderr) {
		g.bar = newBar(p.Stderr, true)
	}
	return g
}

// isTerminal tells whether a person looks at what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// expect lets f tell how much time is left.
func (g *progress) expect(f *forecast) {
	g.forecast = f
	if g.bar != nil {
		g.bar = newBar(g.w, false)
	}
}

func newBar(w io.Writer, predict bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(10),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("steps"),
		progressbar.OptionSetPredictTime(predict),
		progressbar.OptionThrottle(150*time.Millisecond),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionClearOnFinish(),
	)
}

// update takes one of sim's snapshots.
func (g *progress) update(s sim.Status) {
	now := g.now()
	if g.began.IsZero() {
		g.began, g.wrote, g.start = now, now, s.Done-s.Served
	}
	// What the store served took no time and says nothing about the rest.
	played, toPlay := s.Done-s.Served, s.Total-s.Served
	if toPlay == 0 {
		return
	}
	about := s.Experiment
	if s.Contender != "" {
		about += "  " + s.Contender
		if g.byReward || math.IsNaN(s.Regret) {
			about += fmt.Sprintf("  reward %.3g a step", s.Reward)
		} else {
			about += fmt.Sprintf("  regret %.1f", s.Regret)
		}
	}
	left := ""
	if g.forecast != nil {
		g.forecast.tell(played, toPlay, s.Contender)
		left = "  " + readable(g.forecast.left(now.Sub(g.began))) + " left"
	}
	if g.bar != nil {
		g.bar.Describe(about + left)
		g.bar.ChangeMax64(toPlay)
		g.bar.Set64(played)
		return
	}
	begins := !g.seen[s.Contender] && (s.Contender != "" || left != "")
	if !begins && now.Sub(g.wrote) < linesEvery {
		return
	}
	g.seen[s.Contender] = true
	g.wrote = now
	line := fmt.Sprintf("%3.0f %%  %s%s", 100*float64(s.Done)/float64(s.Total), about, left)
	if took := now.Sub(g.began).Seconds(); left == "" && took > 0 && played > g.start {
		rate := float64(played-g.start) / took
		left := time.Duration(math.Min(float64(toPlay-played)/rate, 1e9) * float64(time.Second))
		line += fmt.Sprintf("  %.0f steps/s  %v left", rate, left.Round(time.Second))
	}
	fmt.Fprintln(g.w, line)
}

// close removes the bar.
func (g *progress) close() {
	if g.bar != nil {
		g.bar.Clear()
	}
}
