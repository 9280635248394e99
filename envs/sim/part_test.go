package sim_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

// Parts are what a stopped Run has left, by scale, until the result is there.
func TestParts(t *testing.T) {
	t.Parallel()
	store := sim.Store{Dir: t.TempDir()}
	want := func(parts ...sim.Part) {
		t.Helper()
		got, err := store.Parts(lesson())
		if err != nil || !reflect.DeepEqual(got, parts) {
			t.Errorf("parts %+v, %v, want %+v", got, err, parts)
		}
	}
	want()
	// stop plays stacks of 5 of one contender and keeps all but the last.
	stop := func(i, stacks, steps int) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e := lesson()
		e.Steps = steps
		e.Contenders = e.Contenders[i : i+1]
		s, ok := e.Contenders[0].Algorithm.(student)
		if !ok {
			s = *e.Contenders[0].Algorithm.(*student)
		}
		var played atomic.Int64
		s.Stop = func() {
			if int(played.Add(1)) == stacks {
				cancel()
			}
		}
		e.Contenders[0].Algorithm = &s // a pointer is recorded as what it points to
		if _, err := e.Run(ctx, store, sim.Options{Workers: 1, Stack: 5}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	e := lesson()
	a, b := e.Contenders[0].Name, e.Contenders[1].Name
	stop(1, 2, e.Steps)
	want(sim.Part{b, e.Steps, e.Runs, 5})
	stop(0, 3, e.Steps)
	stop(1, 1, 2*e.Steps) // keeps nothing
	stop(0, 2, 2*e.Steps)
	want(sim.Part{a, e.Steps, e.Runs, 10}, sim.Part{b, e.Steps, e.Runs, 5}, sim.Part{a, 2 * e.Steps, e.Runs, 5})

	// In other settings there is nothing.
	other := lesson()
	other.Seed++
	if got, err := store.Parts(other); got != nil || err != nil {
		t.Errorf("with another seed there are %+v, %v", got, err)
	}
	// What is damaged is counted as it lies there, and what is no part is not.
	folders, _ := filepath.Glob(filepath.Join(store.Dir, "lesson", "*.parts"))
	for _, folder := range folders {
		if err := os.Mkdir(filepath.Join(folder, "run-00019.csv"), 0o777); err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(folder, "run-00000.csv"), nil, 0o666)
	}
	want(sim.Part{a, e.Steps, e.Runs, 10}, sim.Part{b, e.Steps, e.Runs, 5}, sim.Part{a, 2 * e.Steps, e.Runs, 5})
	for _, folder := range folders {
		os.Remove(filepath.Join(folder, "run-00019.csv"))
		os.Remove(filepath.Join(folder, "run-00000.csv"))
	}
	mustRun(t, lesson(), store, sim.Options{})
	want(sim.Part{a, 2 * e.Steps, e.Runs, 4})

	odd := lesson()
	odd.Name = "../lesson"
	if _, err := store.Parts(odd); err == nil {
		t.Error("a name of a folder elsewhere is no error")
	}
}
