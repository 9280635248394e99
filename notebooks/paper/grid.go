package paper

import (
	"slices"
	"strings"

	"github.com/contextrec/contextrec/envs/sim"
)

// Grid is what a tuning study tries of one contender.
type Grid struct {
	Contender string
	Settings  []string // in the study, "contender, setting" is a contender
}

// Grids takes a tuning study apart.
func Grids(study sim.Experiment) []Grid {
	var grids []Grid
	for _, c := range study.Contenders {
		name, setting, _ := strings.Cut(c.Name, ", ")
		k := slices.IndexFunc(grids, func(g Grid) bool { return g.Contender == name })
		if k < 0 {
			k = len(grids)
			grids = append(grids, Grid{Contender: name})
		}
		grids[k].Settings = append(grids[k].Settings, setting)
	}
	return grids
}

// Of returns the grid's part of a study's results, with the settings alone as
// their names.
func (g Grid) Of(results []*sim.Result) []*sim.Result {
	var out []*sim.Result
	for _, r := range results {
		if name, setting, _ := strings.Cut(r.Contender, ", "); name == g.Contender {
			short := *r
			short.Contender = setting
			out = append(out, &short)
		}
	}
	return out
}
