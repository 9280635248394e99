package sim_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	store := sim.Store{Dir: t.TempDir()}
	e := lesson()
	if _, err := store.Load(e, e.Contenders[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the run: %v", err)
	}
	if _, err := store.Results(e.Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the run: %v", err)
	}
	played := mustRun(t, e, store, sim.Options{})
	for i, c := range e.Contenders {
		r, err := store.Load(e, c)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r, played[i]) {
			t.Errorf("%s: loaded %+v, played %+v", c.Name, r, played[i])
		}
	}
	if served := mustRun(t, e, store, sim.Options{}); !reflect.DeepEqual(served, played) {
		t.Error("what is served differs from what was played")
	}

	// Another setting is another file, and not there.
	for name, change := range map[string]func(e *sim.Experiment){
		"Seed":      func(e *sim.Experiment) { e.Seed++ },
		"Steps":     func(e *sim.Experiment) { *e = e.Scale(2) },
		"Runs":      func(e *sim.Experiment) { e.Runs++ },
		"Problem":   func(e *sim.Experiment) { e.Problem = field{Mute: true} },
		"Algorithm": func(e *sim.Experiment) { e.Contenders[0].Algorithm = student{Rate: 0.02} },
	} {
		other := lesson()
		change(&other)
		if _, err := store.Load(other, other.Contenders[0]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	// A pointer declares what it points to.
	if _, err := store.Load(e, sim.Contender{Name: e.Contenders[1].Name, Algorithm: student{Rate: 0.1}}); err != nil {
		t.Error(err)
	}

	// Results has all scales, and ignores what is no result.
	mustRun(t, e.Scale(0.1), store, sim.Options{})
	if err := os.WriteFile(filepath.Join(store.Dir, "lesson", "figure.png"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	all, err := store.Results("lesson")
	if err != nil || len(all) != 4 {
		t.Errorf("%d results, error %v", len(all), err)
	}
	if _, err := store.Results("../lesson"); err == nil {
		t.Error("an experiment's name may leave the folder")
	}
}

// A file that is not what its name says is refused by name and line, the others
// are returned, and Run leaves it as it is.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := lesson()
	whole := wanted(t)
	var slow, quick string // names below the store's folder
	for name := range whole {
		if strings.Contains(name, "slow") {
			slow = name
		} else {
			quick = name
		}
	}
	for _, test := range []struct{ name, content, line string }{
		{"empty", "", "line 1"},
		{"foreign", "run,step\n1,2\n", "line 1"},
		{"cut off", whole[slow][:len(whole[slow])/2], "cut off"},
		{"a number changed", strings.Replace(whole[slow], "\n3,2,", "\n3,2,1", 1), "line"},
		{"another contender's", whole[quick], "line"},
		{"another experiment's", seal(strings.Replace(unseal(whole[slow]), "# experiment: lesson", "# experiment: lessons", 1)), "line"},
		{"another seed's", seal(strings.Replace(unseal(whole[slow]), "# seed: 7", "# seed: 8", 1)), "line"},
		{"a part", seal(onlyRun(unseal(whole[slow]), "3")), "is missing"},
	} {
		if test.content == whole[slow] {
			t.Fatalf("%s: nothing has changed", test.name)
		}
		dir := t.TempDir()
		path := filepath.Join(dir, slow)
		os.Mkdir(filepath.Join(dir, "lesson"), 0o777)
		if err := os.WriteFile(path, []byte(test.content), 0o666); err != nil {
			t.Fatal(err)
		}
		store := sim.Store{Dir: dir}
		results, runErr := e.Run(context.Background(), store, sim.Options{Workers: 1})
		if len(results) != 1 || results[0].Contender != e.Contenders[1].Name {
			t.Errorf("%s: Run returned %d results", test.name, len(results))
		}
		listed, listErr := store.Results("lesson")
		if len(listed) != 1 || listed[0].Contender != e.Contenders[1].Name {
			t.Errorf("%s: Results returned %d results", test.name, len(listed))
		}
		_, loadErr := store.Load(e, e.Contenders[0])
		for _, err := range []error{runErr, listErr, loadErr} {
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.line) || !strings.Contains(err.Error(), "remove the file") {
				t.Errorf("%s: error %v", test.name, err)
			}
		}
		if text, err := os.ReadFile(path); string(text) != test.content || err != nil {
			t.Errorf("%s: the file was changed, %v", test.name, err)
		}
	}
}

// unseal removes the last line of a result.
func unseal(text string) string { return text[:strings.LastIndex(text, "# end: ")] }

// onlyRun keeps the rows of one run.
func onlyRun(text, run string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "run") || strings.HasPrefix(line, run+",") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Parts that are damaged, or of another run or other checkpoints, are refused
// as well; the others are used.
func TestPartRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store := sim.Store{Dir: t.TempDir()}
	e := lesson()
	e.Contenders = e.Contenders[:1]
	stacks := 0
	e.Contenders[0].Algorithm = student{Rate: 0.01, Stop: func() {
		if stacks++; stacks == 2 {
			cancel()
		}
	}}
	if _, err := e.Run(ctx, store, sim.Options{Workers: 1, Stack: 3}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	kept := parts(t, store.Dir)
	if len(kept) != 3 {
		t.Fatalf("%d parts, want 3", len(kept))
	}
	text := files(t, filepath.Dir(kept[1]))
	right, other := text["run-00001.csv"], text["run-00000.csv"]
	lines := strings.SplitAfter(unseal(right), "\n")
	for name, content := range map[string]string{
		"cut off":               right[:len(right)/2],
		"of another run":        other,
		"of other checkpoints":  seal(strings.Join(append(lines[:11:11], lines[12:]...), "")), // without step 1
		"of another experiment": seal(strings.Replace(unseal(right), "# seed: 7", "# seed: 8", 1)),
	} {
		if err := os.WriteFile(kept[1], []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		results, err := e.Run(context.Background(), store, sim.Options{Workers: 1, Stack: 3})
		if len(results) != 0 || err == nil || !strings.Contains(err.Error(), kept[1]) {
			t.Errorf("%s: %d results, error %v, want one about %s", name, len(results), err, kept[1])
		}
	}
	if err := os.Remove(kept[1]); err != nil {
		t.Fatal(err)
	}
	mustRun(t, e, store, sim.Options{})
	slow := make(map[string]string)
	for name, text := range wanted(t) {
		if strings.Contains(name, "slow") {
			slow[name] = text
		}
	}
	wantFiles(t, store.Dir, slow)
}

// A file that turns up under the result's name while the runs are played is not
// overwritten either.
func TestForeignMeanwhile(t *testing.T) {
	dir := t.TempDir()
	var path string
	for name := range wanted(t) {
		if strings.Contains(name, "slow") {
			path = filepath.Join(dir, name)
		}
	}
	e := lesson()
	e.Contenders = []sim.Contender{{Name: "slow student", Algorithm: student{Rate: 0.01, Stop: func() { os.WriteFile(path, []byte("mine"), 0o666) }}}}
	results, err := e.Run(context.Background(), sim.Store{Dir: dir}, sim.Options{Workers: 1, Stack: 20})
	if len(results) != 0 || err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%d results, error %v", len(results), err)
	}
	if text, err := os.ReadFile(path); string(text) != "mine" || err != nil {
		t.Errorf("the file is now %q, %v", text, err)
	}
}

// A folder that cannot be written is an error before anything is played. A file
// in the place of a folder, and a link to nowhere, stop an administrator, too.
func TestFolderNotWritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("not a folder"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "lesson")); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	for folder, text := range map[string]string{
		file:                        "not a directory",
		filepath.Join(file, "down"): "not a directory",
		dir:                         "results cannot be kept in " + filepath.Join(dir, "lesson"),
	} {
		results, err := loggedLesson(log, 0, 0).Run(context.Background(), sim.Store{Dir: folder}, sim.Options{})
		if len(results) != 0 || err == nil || !strings.Contains(err.Error(), filepath.Join(folder, "lesson")) || !strings.Contains(err.Error(), text) {
			t.Errorf("%d results, error %v, want %q", len(results), err, text)
		}
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("runs were played for a folder that cannot be written")
	}
}
