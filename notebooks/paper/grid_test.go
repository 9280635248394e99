package paper_test

import (
	"reflect"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func TestGrids(t *testing.T) {
	study := sim.Experiment{Contenders: []sim.Contender{{Name: "A, rate 1"}, {Name: "B, rate 1, greed 2"}, {Name: "A, rate 3"}}}
	want := []paper.Grid{{Contender: "A", Settings: []string{"rate 1", "rate 3"}}, {Contender: "B", Settings: []string{"rate 1, greed 2"}}}
	grids := paper.Grids(study)
	if !reflect.DeepEqual(grids, want) {
		t.Fatalf("grids are %+v, want %+v", grids, want)
	}
	results := []*sim.Result{{Contender: "A, rate 3", Runs: 1}, {Contender: "B, rate 1, greed 2", Runs: 2}, {Contender: "A, rate 1", Runs: 3}}
	got := grids[0].Of(results)
	if len(got) != 2 || got[0].Contender != "rate 3" || got[0].Runs != 1 || got[1].Contender != "rate 1" || got[1].Runs != 3 {
		t.Errorf("results of A are %+v", got)
	}
	if results[0].Contender != "A, rate 3" {
		t.Errorf("the study's result is now called %q", results[0].Contender)
	}
}

// Every contender of a tuning study has a grid of the same size, and each of its
// settings once.
func TestTuningIsFair(t *testing.T) {
	for _, study := range paper.Tuning() {
		size := paper.GridSize
		if paper.IsMusic(study) {
			size = paper.MusicGridSize
		}
		for _, g := range paper.Grids(study) {
			seen := map[string]bool{}
			for _, s := range g.Settings {
				seen[s] = true
			}
			if len(g.Settings) != size || len(seen) != size {
				t.Errorf("%s tries %d settings of %s, %d of them different; want %d", study.Name, len(g.Settings), g.Contender, len(seen), size)
			}
		}
		for _, e := range paper.Experiments() {
			if e.Seed == study.Seed {
				t.Errorf("%s is tuned on the reported seed of %s", study.Name, e.Name)
			}
		}
	}
}
