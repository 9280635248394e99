package paper_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/pgcr"
)

// What the paper says of the experiments (sections 6.1 and 6.3): 5 runs of 5
// million steps, 10 candidates of 94 fields, batches of 256, layers of 60 and 20,
// with states of 90 and 20; epsilon 0.1 and the value network of PGCR.
func TestMusicIsAsInPaper(t *testing.T) {
	for _, c := range []struct {
		experiment sim.Experiment
		dim        int
		hidden     []int
	}{{paper.MusicStateless(), 94, []int{60, 20}}, {paper.MusicState(), 94 + 3*95, []int{90, 20}}} {
		e := c.experiment
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		if s := e.Problem.Spec(); e.Runs != 5 || e.Steps != 5_000_000 || s.Candidates != 10 || s.Dim != c.dim {
			t.Errorf("%s has %d runs of %d steps, %+v", e.Name, e.Runs, e.Steps, s)
		}
		config := algorithmOf(t, e, paper.PGCR).(pgcr.Config)
		vanilla := algorithmOf(t, e, paper.VanillaPG).(neural.VanillaPG)
		values := algorithmOf(t, e, paper.EpsilonGreedy).(neural.EpsilonGreedy)
		for _, hidden := range [][]int{config.Hidden, vanilla.Hidden, values.Hidden} {
			if !slices.Equal(hidden, c.hidden) {
				t.Errorf("%s has layers of %v", e.Name, hidden)
			}
		}
		if config.BatchSize != 256 || vanilla.BatchSize != 256 || values.BatchSize != 256 || config.Resamples != 0 || config.ControlVariate {
			t.Errorf("%s has %+v, %+v, %+v", e.Name, config, vanilla, values)
		}
		if text := declarationOf(t, values); !strings.Contains(text, `"Epsilon":0.1`) {
			t.Errorf("epsilon-greedy is %s", text)
		}
		if steps := e.Scale(paper.UsualScale(e)).Steps; steps != 50_000 {
			t.Errorf("%s plays %d steps where nobody asks for more", e.Name, steps)
		}
		for _, name := range paper.References {
			algorithmOf(t, e, name)
		}
	}
	if e := paper.Linear(); paper.IsMusic(e) || paper.UsualScale(e) != 1 {
		t.Errorf("%s is played at scale %v", e.Name, paper.UsualScale(e))
	}
}

// Data in a folder are another problem, and nobody knows their probabilities.
func TestWithData(t *testing.T) {
	folder := t.TempDir()
	if err := (kkbox.Synthetic{Users: 40}).Write(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	for _, e := range []sim.Experiment{paper.MusicStateless(), paper.MusicState()} {
		real := paper.WithData(e, kkbox.Source{Folder: folder})
		text, err := json.Marshal(real.Problem)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), folder) || !strings.Contains(string(text), "Checksum") {
			t.Errorf("the data are identified by %s", text)
		}
		var names []string
		for _, c := range real.Contenders {
			names = append(names, c.Name)
		}
		if slices.Contains(names, paper.TrueProbabilities) || len(names) != len(e.Contenders)-1 {
			t.Errorf("contenders on real data are %q", names)
		}
		// Where the twin is kept changes nothing.
		twin := paper.WithData(e, kkbox.Source{Cache: folder})
		a, err := json.Marshal(twin.Problem)
		b, err2 := json.Marshal(e.Problem)
		if err != nil || err2 != nil || string(a) != string(b) || len(twin.Contenders) != len(e.Contenders) {
			t.Errorf("the twin is %s, %v with a cache and %s, %v without", a, err, b, err2)
		}
	}
	if e := paper.Linear(); !reflect.DeepEqual(paper.WithData(e, kkbox.Source{Folder: folder}), e) {
		t.Error("the toy problem has changed")
	}
}

func TestEpisode(t *testing.T) {
	for steps, want := range map[int]int{5_000_000: 50_000, 1_000_000: 10_000, 999_999: 49_999, 50_000: 2_500, 40: 2, 10: 1} {
		if got := paper.Episode(steps); got != want {
			t.Errorf("an episode of %d steps has %d, want %d", steps, got, want)
		}
	}
}
