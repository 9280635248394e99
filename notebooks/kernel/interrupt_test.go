package kernel

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/kernel/internal/tooltest"
	"github.com/contextrec/contextrec/notebooks/kernel/nbformat"
)

// A training cell as the notebooks have them: one contender that is there at
// once, and one that learns for a second or more.
const training = `import (
	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/nb"
	_ "github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/pgcr"
)

var experiment = sim.Experiment{
	Name: "trained", Problem: envs.Linear{}, Runs: 4, Steps: 1000, Seed: 1,
	Contenders: []sim.Contender{{Name: "random", Algorithm: baselines.Random{}}, {Name: "PGCR", Algorithm: pgcr.Config{}}},
}

%%
nb.FinalRegrets(nb.Run(experiment))`

// session is an open notebook, whose cells are run one by one.
type session struct {
	t *testing.T
	*process
	byID displays

	mu   sync.Mutex
	bars []time.Time // when the progress bar moved, while PGCR learned
}

// open starts a kernel beside the notebooks, whose results go to out, and runs
// the set-up cell that every notebook begins with.
func open(t *testing.T, out string) *session {
	t.Helper()
	notebooks, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	template, err := nbformat.Read(filepath.Join(notebooks, "cmd", "paper", "program", "testdata", "template.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	first := slices.IndexFunc(template.Cells, func(c nbformat.Cell) bool { return c.Type == nbformat.Code })
	p, err := start(t.Context(), notebooks, []string{"PATH=" + tooltest.Path(t), "PAPER_OUT=" + out, "PAPER_SCALE=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	s := &session{t: t, process: p, byID: make(displays)}
	p.client.published = s.watch(p.client.published)
	s.good(template.Cells[first].Source)
	return s
}

// watch passes messages on and notes those of the progress bar.
func (s *session) watch(from <-chan message) chan message {
	to := make(chan message)
	go func() {
		defer close(to)
		for m := range from {
			if bytes.Contains(m.Content, []byte("progress value")) && bytes.Contains(m.Content, []byte("PGCR")) {
				s.mu.Lock()
				s.bars = append(s.bars, time.Now())
				s.mu.Unlock()
			}
			to <- m
		}
	}()
	return to
}

func (s *session) moved() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bars)
}

// good runs a cell that must not fail, and returns what it shows.
func (s *session) good(cell string) string {
	s.t.Helper()
	o := new(outputs)
	reason, err := s.execute(s.t.Context(), cell, true, 0, o, s.byID)
	if err != nil || reason != "" {
		s.t.Fatalf("%s: %s, %v\n%s", cell, reason, err, o.text())
	}
	var shown []string
	for _, out := range o.stored() {
		if text, ok := out.Data["text/plain"].(string); ok {
			shown = append(shown, text)
		}
		shown = append(shown, out.Text)
	}
	return strings.TrimSpace(strings.Join(shown, "\n"))
}

// results are the files of a store.
func results(t *testing.T, out string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	disk := os.DirFS(filepath.Join(out, "results"))
	err := fs.WalkDir(disk, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".csv" {
			files[path], err = fs.ReadFile(disk, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The stop button ends a training cell at once. What is finished is kept, the
// kernel goes on, and so does the cell, to the result that it would have had.
// And several notebooks that are run at the same time share a store: they have
// the results that one has alone.
func TestTraining(t *testing.T) {
	alone := t.TempDir()
	reference := open(t, alone)
	shown := reference.good(training)
	want := results(t, alone)
	if len(want) != 2 || !strings.Contains(shown, "PGCR") || !strings.Contains(shown, "random") {
		t.Fatalf("the cell shows %s, its results are %q", shown, slices.Collect(maps.Keys(want)))
	}
	if bars := reference.moved(); len(bars) < 2 {
		t.Error("the progress bar does not move")
	} else if rate := float64(len(bars)-1) / bars[len(bars)-1].Sub(bars[0]).Seconds(); rate < 2 {
		t.Errorf("the progress bar moves %.1f times a second, want 2", rate)
	} else {
		t.Logf("the progress bar moves %.1f times a second", rate)
	}

	t.Run("interrupted", func(t *testing.T) {
		out := t.TempDir()
		s := open(t, out)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var pressed time.Time
		go func() {
			for len(s.moved()) == 0 && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			pressed = time.Now()
			stop() // execute sends the button's message
		}()
		o := new(outputs)
		if _, err := s.execute(ctx, training, true, 0, o, s.byID); !errors.Is(err, context.Canceled) {
			t.Fatalf("error is %v\n%s", err, o.text())
		}
		took := time.Since(pressed)
		t.Logf("it ended after %v", took.Round(time.Millisecond))
		if took > 2*time.Second {
			t.Errorf("it ended after %v, want 2 seconds", took)
		}
		// A program that is killed could not say so.
		if !strings.Contains(o.text(), "interrupted; contenders that are finished are kept") {
			t.Errorf("the cell says %s", o.text())
		}
		kept := results(t, out)
		if len(kept) != 1 {
			t.Errorf("kept are %q, want the result of random", slices.Collect(maps.Keys(kept)))
		}
		for path, text := range kept {
			if !bytes.Equal(text, want[path]) {
				t.Errorf("%s is kept as\n%s", path, text)
			}
			// Played again, it would be written again.
			if err := os.Chtimes(filepath.Join(out, "results", path), time.Time{}, time.Unix(1e9, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.good("!echo the kernel goes on"); got != "the kernel goes on" {
			t.Errorf("the kernel says %q", got)
		}
		if got := s.good(training); got != shown {
			t.Errorf("run again the cell shows\n%s\nwant\n%s", got, shown)
		}
		if got := results(t, out); !maps.EqualFunc(got, want, bytes.Equal) {
			t.Error("the results are not those of a run without interruption")
		}
		for path := range kept {
			if info, err := os.Stat(filepath.Join(out, "results", path)); err != nil || !info.ModTime().Equal(time.Unix(1e9, 0)) {
				t.Errorf("%s was played again, %v", path, err)
			}
		}
	})

	t.Run("two at once", func(t *testing.T) {
		out := t.TempDir()
		both := []*session{open(t, out), open(t, out)}
		var showns [2]string
		var wg sync.WaitGroup
		for i, s := range both {
			wg.Go(func() {
				o := new(outputs)
				reason, err := s.execute(t.Context(), training, true, 0, o, s.byID)
				if err != nil || reason != "" {
					t.Errorf("%s, %v\n%s", reason, err, o.text())
				}
				for _, stored := range o.stored() {
					text, _ := stored.Data["text/plain"].(string)
					showns[i] += text
				}
			})
		}
		wg.Wait()
		for _, got := range showns {
			if got != shown {
				t.Errorf("a notebook shows\n%s\nwant\n%s", got, shown)
			}
		}
		if got := results(t, out); !maps.EqualFunc(got, want, bytes.Equal) {
			t.Error("the results are not those of one notebook alone")
		}
	})
}
