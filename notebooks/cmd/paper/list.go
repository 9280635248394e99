package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func (p *program) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the experiments, their contenders and what is stored",
		Args:  takes(0, 0, "no names", "paper list"),
		RunE:  func(*cobra.Command, []string) error { return p.list() },
	}
}

func (p *program) list() error {
	store, err := p.filledStore()
	if err != nil {
		return err
	}
	if err := p.identifyData(p.experiments); err != nil {
		return err
	}
	var errs []error
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	section := func(title string, experiments []sim.Experiment, contenders func(sim.Experiment) string) {
		fmt.Fprintln(w, title)
		for _, e := range experiments {
			results, err := paper.Stored(store, e)
			if err != nil {
				errs = append(errs, err)
			}
			var stored []string
			if len(results) > 0 {
				stored = append(stored, fmt.Sprintf("%d of %d at scale %v", len(results), len(e.Contenders), scaleOf(e, results[0].Steps)))
			}
			parts, err := store.Parts(e)
			errs = append(errs, err)
			for i := 0; i < len(parts); {
				kept, steps := 0, parts[i].Steps
				for ; i < len(parts) && parts[i].Steps == steps; i++ {
					kept += parts[i].Kept
				}
				stored = append(stored, fmt.Sprintf("%d runs begun at scale %v", kept, scaleOf(e, steps)))
			}
			if stored == nil {
				stored = []string{"-"}
			}
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", e.Name, e.Runs, e.Steps, strings.Join(stored, ", "), contenders(e))
		}
		errs = append(errs, w.Flush())
	}
	section("EXPERIMENT\tRUNS\tSTEPS\tSTORED\tCONTENDERS", p.experiments, func(e sim.Experiment) string {
		return strings.Join(contenders(e), "; ")
	})
	if len(p.tuning) > 0 {
		fmt.Fprintln(p.stdout)
		section("TUNING STUDY\tRUNS\tSTEPS\tSTORED\tSETTINGS", p.tuning, func(e sim.Experiment) string {
			var grids []string
			for _, g := range paper.Grids(e) {
				grids = append(grids, fmt.Sprintf("%d of %s", len(g.Settings), g.Contender))
			}
			return strings.Join(grids, "; ")
		})
	}
	return errors.Join(errs...)
}

func contenders(e sim.Experiment) []string {
	names := make([]string, len(e.Contenders))
	for i, c := range e.Contenders {
		names[i] = c.Name
	}
	return names
}

// named returns the experiments and tuning studies of these names, in this
// order and each once.
func (p *program) named(names []string) ([]sim.Experiment, error) {
	var known []string
	byName := map[string]sim.Experiment{}
	for _, e := range slices.Concat(p.experiments, p.tuning) {
		known = append(known, e.Name)
		byName[e.Name] = e
	}
	var out []sim.Experiment
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		e, ok := byName[name]
		if !ok {
			hint := ""
			if p.isNotebook(name) {
				hint = fmt.Sprintf(" There is a notebook: paper notebooks %s executes it.", name)
			} else if near := nearest(name, known); near != "" {
				hint = fmt.Sprintf(" Did you mean %s?", near)
			}
			return nil, usageError{fmt.Errorf("there is no experiment %q.%s Known are: %s", name, hint, strings.Join(known, ", "))}
		}
		out = append(out, e)
	}
	return out, nil
}

// isNotebook tells the notebooks of the repository, if there is one.
func (p *program) isNotebook(name string) bool {
	root, err := p.repository()
	if err != nil {
		return false
	}
	_, err = notebooks(root, []string{name})
	return err == nil
}

// nearest is the known name that takes the fewest changes of a character, not
// counting case, or "" where that would be half of them or more.
func nearest(name string, known []string) string {
	best, least := "", (len(name)+1)/2
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the fewest insertions, deletions, replacements and swaps of
// neighbours of bytes that turn a into b, where no byte is changed twice.
func distance(a, b string) int {
	var before []int // the row of two bytes less of a
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
