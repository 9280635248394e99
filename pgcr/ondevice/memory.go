package ondevice

import (
	"fmt"
	"strings"
)

// explain says how much memory was asked for, and which settings need less, where
// the device's was too small.
func (g *game) explain(err error) error {
	if err == nil {
		return nil
	}
	text := strings.ToLower(err.Error())
	if !strings.Contains(text, "resource_exhausted") && !strings.Contains(text, "out of memory") {
		return err
	}
	history, features := g.footprint()
	of := ""
	if features > 0 {
		of = fmt.Sprintf(", and %s of features", gib(features))
	}
	return fmt.Errorf("ondevice: the device's memory is too small: the history of %d runs of %d steps takes %s, twice that while it grows%s; fewer runs at a time need less (sim.Options.Stack, flag -stack), and so do fewer steps (sim.Experiment.Scale, flag -scale): %w",
		g.runs(), g.match.Steps, gib(history), of, err)
}

// footprint is how many bytes of the device's memory the history and the rows of
// features take. What comes for the update and for a piece of the tape does not
// grow with the steps.
func (t *table) footprint() (history, features float64) {
	history = 4 * float64(t.runs()) * float64(t.steps) * float64(t.shape.history+t.shape.hist)
	if c := t.catalogue; c != nil {
		features = 4 * float64(len(c.features)/c.f+1) * float64(c.columns(t.shape.width))
	}
	return history, features
}

func gib(bytes float64) string { return fmt.Sprintf("%.2f GiB", bytes/(1<<30)) }
