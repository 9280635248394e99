package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// musicShell is a shell that has a music experiment beside the toy ones, with
// contenders that take no time, and a folder of 40 users' data.
func musicShell(t *testing.T) (s *shell, data string) {
	s = newShell(t)
	s.experiments = append(s.experiments, sim.Experiment{
		Name: paper.MusicStatelessName, Problem: kkbox.MusicStateless{}, Runs: 2, Steps: 5_000_000, Seed: 1,
		Contenders: []sim.Contender{
			{Name: paper.Random, Algorithm: baselines.Random{}},
			{Name: paper.TrueProbabilities, Algorithm: kkbox.ProbabilityOracle{}},
			{Name: paper.LabelOracle, Algorithm: kkbox.LabelOracle{}},
		},
	})
	data = filepath.Join(s.dir, "kkbox")
	if err := (kkbox.Synthetic{Users: 40}).Write(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	return s, data
}

func TestMusic(t *testing.T) {
	s, data := musicShell(t)
	s.run(0, "run", "music-stateless", "-scale", "0.0002", "-data", data)
	s.contains(s.out.String(), "music-stateless: 2 runs of 1000 steps", "REWARD A STEP", "LAST TENTH")
	s.contains(s.err.String(), data+": 40 users, ")
	lines := strings.Split(strings.TrimSpace(s.out.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[2], paper.LabelOracle) || !strings.HasPrefix(lines[3], paper.Random) {
		t.Errorf("the best comes first, and nobody knows real probabilities: %q", lines)
	}
	out := filepath.Join(s.dir, "repository", "notebooks", "out")
	if _, err := os.Stat(filepath.Join(out, "data")); err == nil {
		t.Error("beside real data, a twin was made")
	}

	s.run(0, "list", "-data", data)
	s.contains(s.out.String(), "2 of 2 at scale 0.0002")
	s.run(0, "plot", "music-stateless", "-data", data)
	s.contains(s.out.String(), filepath.Join(out, "figures", "music-stateless.png"), "music-stateless-interval.png", "music-stateless-oracles.png")
	if strings.Contains(s.err.String(), "without") {
		t.Errorf("nothing is missing: %s", &s.err)
	}
	s.run(0, "run", "music-stateless", "-scale", "0.0004", "-data", data, "-only", paper.Random)
	s.run(0, "plot", "music-stateless", "-data", data, "-scale", "0.0004")
	s.contains(s.err.String(), "music-stateless: drawn with nothing but lines to compare with, without label oracle, of which nothing is stored at scale 0.0004: "+
		"paper run music-stateless -scale 0.0004 -data "+data+" adds them\n")
	s.run(0, "table", "-data", data)
	s.contains(s.out.String(), "0.02 % of the paper's", "no result of PGCR")

	// On the twin, nothing is stored.
	s, _ = musicShell(t)
	s.program.Repository = func() (string, error) { return filepath.Join(s.dir, "repository"), nil }
	s.run(0, "list", "-out", out)
	s.contains(s.out.String(), "music-stateless  2     5000000  -")
}

// The files may be there as Kaggle gives them.
func TestMusicUnpacks(t *testing.T) {
	s, _ := musicShell(t)
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(s.dir, "packed")
	if err := os.CopyFS(data, os.DirFS(filepath.Join(root, "envs", "kkbox", "testdata", "small"))); err != nil {
		t.Fatal(err)
	}
	// Its users have too few rows to play on.
	s.run(1, "run", "music-stateless", "-data", data)
	s.contains(s.err.String(), data+": 2 users, 4 songs, 4 rows", "none of 2 users has so many rows")
}

// Reproduce leaves music out, whose results in the store it judges.
func TestReproduceWithoutMusic(t *testing.T) {
	s, _ := musicShell(t)
	for _, name := range []string{"music-state.ipynb", "kkbox-data.ipynb"} {
		writeFile(t, filepath.Join(s.dir, "repository", "notebooks", name), "{}")
	}
	s.run(0, "reproduce", "-scale", "0.05")
	if text := s.out.String(); strings.Contains(text, "== music") || strings.Contains(text, "music-state.ipynb") {
		t.Errorf("reproduce plays music:\n%s", text)
	}
	s.contains(strings.Join(s.executed, " "), "kkbox-data.ipynb theory.ipynb toy-linear.ipynb")
}

// All notebooks together are executed at one scale, but for music, which is
// played at the scale of the others only where it is named.
func TestNotebooksOfMusic(t *testing.T) {
	s, data := musicShell(t)
	writeFile(t, filepath.Join(s.dir, "repository", "notebooks", "music-state.ipynb"), "{}")
	for _, c := range []struct{ args, want string }{
		{"notebooks -scale 1", "theory.ipynb toy-linear.ipynb OUT PAPER_SCALE=1 PAPER_OUT=… music-state.ipynb OUT PAPER_SCALE=0.0002 PAPER_OUT=…"},
		{"notebooks music-state -scale 0.01", "music-state.ipynb OUT PAPER_SCALE=0.01 PAPER_OUT=…"},
		{"notebooks music-state -data " + data, "music-state.ipynb OUT PAPER_SCALE=0.0002 PAPER_OUT=… PAPER_DATA=" + data},
	} {
		s.executed = nil
		s.run(0, strings.Fields(c.args)...)
		out := filepath.Join(s.dir, "repository", "notebooks", "out")
		got := strings.ReplaceAll(strings.ReplaceAll(strings.Join(s.executed, " "), filepath.Join(out, "notebooks"), "OUT"), "PAPER_OUT="+out, "PAPER_OUT=…")
		if got != c.want {
			t.Errorf("paper %s executes\n%s, want\n%s", c.args, got, c.want)
		}
	}
}

func TestMusicBadData(t *testing.T) {
	s, _ := musicShell(t)
	for _, command := range []string{"run music-stateless", "list", "plot music-stateless", "table"} {
		s.run(1, append(strings.Fields(command), "-data", filepath.Join(s.dir, "nowhere"))...)
		s.contains(s.err.String(), "error: ", "nowhere")
	}
	// What needs no data does not look at it.
	s.run(0, "run", "toy-linear", "-scale", "0.1", "-data", filepath.Join(s.dir, "nowhere"))
}

// Synthetic data of any size can be written, looked at and played on.
func TestSynthetic(t *testing.T) {
	s, _ := musicShell(t)
	folder := filepath.Join(s.dir, "new", "twin of 60")
	s.run(0, "synthetic", folder, "-users", "60", "-seed", "7")
	for _, name := range []string{"train.csv", "test.csv", "songs.csv", "song_extra_info.csv", "members.csv", "truth.csv"} {
		s.contains(s.out.String(), filepath.Join(folder, name))
	}
	s.run(0, "run", "music-stateless", "-scale", "0.0002", "-data", folder, "-only", paper.Random)
	s.contains(s.err.String(), folder+": 60 users, ")

	for _, c := range []struct{ flag, want string }{
		{"-users=0", "-users is 0"}, {"-users=-3", "-users is -3"}, {"-seed=0", "-seed is 0"}, {"-seed=-1", "-seed"},
	} {
		s.run(2, "synthetic", folder, c.flag)
		s.contains(s.err.String(), c.want)
	}
	// An interrupt ends it cleanly.
	stopped, stop := context.WithCancel(t.Context())
	stop()
	interrupted := filepath.Join(s.dir, "interrupted")
	s.runContext(stopped, 130, "synthetic", interrupted)
	if want := "interrupted: nothing was written to " + interrupted + "\n"; s.err.String() != want || s.out.Len() > 0 {
		t.Errorf("it says %q and %q, want %q", &s.err, &s.out, want)
	}
	if left, err := os.ReadDir(interrupted); err != nil || len(left) > 0 {
		t.Errorf("after an interrupt the folder has %v (%v)", left, err)
	}

	s.run(2, "synthetic")
	s.run(1, "synthetic", folder, "-users", "200001")
	s.contains(s.err.String(), "200001")
	// Real data is not written over.
	if err := os.Remove(filepath.Join(folder, "truth.csv")); err != nil {
		t.Fatal(err)
	}
	s.run(1, "synthetic", folder)
	s.contains(s.err.String(), "not a synthetic one")
}
