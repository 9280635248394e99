package paper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
)

// References are the entries that do not learn, for [figure.Options]. What the label oracle earns
// is the most that any policy can earn, and what the true probabilities earn, on synthetic data,
// the most without having met the rows before.
var References = []string{"label oracle", "true probabilities", "largest sum", "random"}

// IsMusic reports whether an experiment is one of the music experiments, which
// are judged by reward, for their best policy is unknown, and drawn by episodes.
func IsMusic(e sim.Experiment) bool { return isMusic(fmt.Sprintf("%T", e.Problem)) }

func isMusic(problem string) bool { return strings.HasPrefix(problem, "kkbox.Music") }

// WithData puts a music experiment on other data, and leaves out the true probabilities where the
// data is real: they are unknown. Other experiments it returns as they are.
func WithData(e sim.Experiment, source kkbox.Source) sim.Experiment {
	switch p := e.Problem.(type) {
	case kkbox.MusicStateless:
		p.Source = source
		e.Problem = p
	case kkbox.MusicState:
		p.Source = source
		e.Problem = p
	default:
		return e
	}
	if source.Folder != "" {
		e.Entries = slices.DeleteFunc(slices.Clone(e.Entries), func(n sim.Entry) bool { return n.Name == "true probabilities" })
	}
	return e
}

// UsualScale is the fraction of an experiment's steps that is played unless
// another one is asked for: all of them, but a hundredth of the 5 million music
// steps, whose networks take weeks on a CPU.
func UsualScale(e sim.Experiment) float64 {
	if IsMusic(e) && e.Steps == MusicStateless().Steps {
		return 0.01
	}
	return 1
}

// ShortScale is the fraction that notebooks and paper reproduce play unless another
// one is asked for: 200 steps.
func ShortScale(e sim.Experiment) float64 { return min(1, 200/float64(e.Steps)) }

// Episode is over how many steps rewards are averaged in a figure of a run of that
// many steps: the paper's 10,000, or a twentieth of the steps where that is less.
func Episode(steps int) int { return min(10_000, max(1, steps/20)) }
