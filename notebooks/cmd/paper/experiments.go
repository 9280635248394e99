package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/kkbox/sevenzip"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/nb"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/notebooks/submit"
)

const tuning = "tuning-" // before a name: the search for that experiment's settings

// declared are the experiments of the paper and, after them, those of our studies.
func declared() []sim.Experiment {
	all, studies := paper.Experiments(), paper.Studies()
	for _, name := range slices.Sorted(maps.Keys(studies)) {
		all = append(all, studies[name]...)
	}
	return all
}

// experiments are those of these names in this order, or those of the paper, on the data that was
// asked for. The name of a study stands for its experiments: "when" for when-0 and the others. A name
// that is not known has no experiment.
func (p *program) experiments(names ...string) (chosen []sim.Experiment) {
	all, studies := declared(), paper.Studies()
	if len(names) == 0 {
		names = namesOf(paper.Experiments())
	}
	for _, name := range names {
		base, search := strings.CutPrefix(name, tuning)
		found := studies[base]
		if k := slices.Index(namesOf(all), base); k >= 0 {
			found = all[k : k+1]
		}
		for _, e := range found {
			if p.data != "" {
				e = paper.WithData(e, kkbox.Source{Folder: p.data, Unpacker: sevenzip.Unpacker{}})
			}
			if search {
				e = paper.Tuning(e)
			}
			if e.Runs = cmp.Or(p.runs, e.Runs); p.seedGiven {
				e.Seed = p.seed
			}
			chosen = append(chosen, e)
		}
	}
	return chosen
}

func namesOf(experiments []sim.Experiment) (names []string) {
	for _, e := range experiments {
		names = append(names, e.Name)
	}
	return names
}

// names wants the names of experiments.
func (p *program) names(_ *cobra.Command, args []string) error {
	for _, name := range args {
		if p.experiments(name) == nil {
			return fmt.Errorf("there is no experiment %q; known are: %s", name, strings.Join(namesOf(declared()), ", "))
		}
	}
	return nil
}

func (p *program) store() sim.Store { return sim.Store{Dir: filepath.Join(p.out, "results")} }

// stored are the results of an experiment, and those of other programs.
func (p *program) stored(e sim.Experiment) ([]*sim.Result, error) {
	results, err := paper.Stored(p.store(), e)
	results, err2 := paper.WithPeers(sim.Store{Dir: filepath.Join(p.out, "peers")}, results)
	return results, errors.Join(err, err2)
}

// list tells what is stored and, of experiments that are named, the algorithms.
func (p *program) list(_ *cobra.Command, names []string) (err error) {
	listed := names
	if len(names) == 0 {
		listed = namesOf(declared())
	}
	var rows [][]string
	for _, e := range p.experiments(listed...) {
		results, failed := paper.Stored(p.store(), e)
		err = errors.Join(err, failed)
		stored := "-"
		if len(results) > 0 {
			stored = fmt.Sprintf("%d of %d algorithms, %d steps", len(results), len(e.Entries), results[0].Steps)
		}
		rows = append(rows, []string{e.Name, fmt.Sprint(e.Runs), fmt.Sprint(e.Steps), stored})
		if len(names) > 0 {
			for _, n := range e.Entries {
				rows = append(rows, []string{"  " + n.Name})
			}
		}
	}
	p.print([]string{"experiment", "runs", "steps", "stored"}, rows)
	p.next("run toy-linear -scale 0.1", "lab")
	return err
}

// print prints a table that has rows.
func (p *program) print(header []string, rows [][]string) {
	if rows != nil {
		text, _ := paper.TableText("text", header, rows) // the format is known
		fmt.Fprint(p.stdout, text)
	}
}

func (p *program) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	var sections []section
	var figures []string
	for _, e := range p.experiments(args...) {
		scaled := e.Scale(cmp.Or(p.scale, paper.UsualScale(e)))
		sections = append(sections, section{e.Name, func() error {
			if strings.HasPrefix(e.Name, tuning) {
				return p.search(ctx, scaled)
			}
			results, err := p.play(ctx, scaled)
			if len(results) == len(e.Entries) {
				figures = append(figures, e.Name)
			}
			return err
		}})
	}
	if err := p.inTurn(ctx, sections); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\nThe results are in %s\n", p.store().Dir)
	if figures != nil {
		p.next("plot "+strings.Join(figures, " "), "table")
	}
	return nil
}

// search plays both rounds of a search for settings and tells what it has found, but in a task
// of a job the round of that job alone.
func (p *program) search(ctx context.Context, e sim.Experiment) error {
	first, err := p.play(ctx, e)
	if errors.Is(err, submit.ErrOtherJob) {
		_, err = p.play(ctx, p.round(e))
	}
	if submit.InTask() || len(first) < len(e.Entries) {
		return err
	}
	last := paper.Finals(e, first)
	finals, err := p.play(ctx, last)
	if len(finals) == len(last.Entries) {
		p.print(paper.TuningTable(first, finals))
		err = p.write("tuning/"+e.Name, "csv")(paper.TriesTable(first, finals))
	}
	return err
}

// round is the round of a search that comes next: its finals, where the first is in the store.
func (p *program) round(e sim.Experiment) sim.Experiment {
	var first []*sim.Result
	for _, n := range e.Entries {
		r, err := p.store().Load(e, n)
		if err != nil {
			return e // playing it tells what is wrong with its files
		}
		first = append(first, r)
	}
	return paper.Finals(e, first)
}

// play runs an experiment under a progress bar, where there is a terminal, or else
// with a line every 10 seconds, and prints how it ended.
func (p *program) play(ctx context.Context, e sim.Experiment) ([]*sim.Result, error) {
	player, err := p.player() // says once, not in every entry, what is wrong with the backend
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(p.stdout, "%d runs of %d steps of %d algorithms\n", e.Runs, e.Steps, len(e.Entries))
	opt := paper.Options()
	opt.Shard, opt.Shards, opt.Fresh = p.part, p.parts, p.fresh
	if opt.Player = player; player != nil {
		opt.Stack = min(e.Runs, 20) // XLA gains by runs side by side
		opt.Backend += ", on the device what can be"
	}
	show, erase := nb.Bar()
	var last sim.Status
	opt.Progress = func(st sim.Status) {
		last = st
		show(st)
	}
	results, err := submit.Run(ctx, p.out, e, opt)
	erase()
	if last.Served > 0 {
		fmt.Fprintf(p.stdout, "%.0f %% was stored; -fresh plays all again\n", 100*float64(last.Served)/float64(last.Total))
	}
	if p.parts > 0 && err == nil && len(results) < len(e.Entries) {
		fmt.Fprintf(p.stdout, "part %d of %d is kept; there are results when all parts are\n", p.part, p.parts)
	}
	if len(results) > 0 && !strings.Contains(e.Name, tuning) {
		if paper.IsMusic(e) || results[0].Regret == nil {
			p.print(paper.RewardTable(results))
		} else {
			p.print(paper.RegretTable(results))
		}
	}
	return results, err
}

// plot draws the experiments of these names, or all that have results. It is an
// error when one that is named has none, or when none has any.
func (p *program) plot(_ *cobra.Command, names []string) (err error) {
	drawn := map[string][]*sim.Result{}
	for _, e := range p.experiments(names...) {
		if strings.HasPrefix(e.Name, tuning) {
			return fmt.Errorf("%s has no figure: run prints its table", e.Name)
		}
		results, loadErr := p.stored(e)
		if len(results) == 0 && len(names) > 0 {
			loadErr = errors.Join(loadErr, fmt.Errorf("nothing is stored of %s with %d runs in %s: %s run %s makes results", e.Name, e.Runs, p.store().Dir, self, e.Name))
		}
		err = errors.Join(err, loadErr)
		if only := p.only; only != nil && len(results) > 0 {
			results = slices.DeleteFunc(results, func(r *sim.Result) bool { return !slices.Contains(only, r.Entry) })
			if len(results) < len(only) && len(names) > 0 {
				err = errors.Join(err, fmt.Errorf("%s has no results of all of these: %s; %s list %[1]s names its algorithms", e.Name, strings.Join(only, "; "), self))
			}
		}
		if len(results) == 0 {
			continue
		}
		drawn[e.Name] = results
		opt := paper.FigureOptions(e)
		opt.Interval = true
		averaged, far := paper.IsMusic(e) || results[0].Regret == nil, []string{"random"}
		if averaged {
			far = []string{"true probabilities", "label oracle"}
		}
		others := paper.Without(results, far...) // which would be one line beside these on a linear axis
		if len(others) == 0 {
			others = results
		}
		if averaged {
			err = errors.Join(err, p.save(e.Name)(figure.AverageReward(others, paper.Episode(results[0].Steps), opt)))
		} else {
			err = errors.Join(err, p.save(e.Name)(figure.Regret(others, opt)), p.save(e.Name+"-loglog")(figure.RegretLogLog(results, opt)))
			if learning := paper.Without(results, paper.References...); len(learning) > 1 {
				err = errors.Join(err, p.save(e.Name+"-difference")(figure.Difference(learning, learning[0].Entry, opt)))
			}
		}
	}
	if profile, iqm, failed := paper.AcrossFigures(drawn); profile != nil {
		err = errors.Join(err, p.save("across-profile")(profile, failed), p.save("across-iqm")(iqm, failed))
	}
	if err == nil && len(drawn) == 0 {
		err = fmt.Errorf("nothing is stored in %s: %s run NAME makes results", p.store().Dir, self)
	}
	p.next("table", "notebooks")
	return err
}

// save returns what writes a picture into the folder of figures and prints its path.
func (p *program) save(name string) func(*plot.Plot, error) error {
	return func(picture *plot.Plot, err error) error {
		path, width := filepath.Join(p.out, "figures", name+"."+p.figures), vg.Length(p.width)*vg.Inch
		if err == nil {
			err = figure.Save(picture, path, width, width*figure.Height/figure.Width)
		}
		if err == nil {
			fmt.Fprintln(p.stdout, path)
		}
		return err
	}
}

// table judges the paper's claims by what is stored, prints them, and keeps them and
// tables of all results.
func (p *program) table(*cobra.Command, []string) (err error) {
	experiments, defaults := p.experiments(), p.experiments("defaults")
	results := map[string][]*sim.Result{}
	for _, e := range append(defaults, experiments...) {
		found, loadErr := p.stored(e)
		results[e.Name] = found
		err = errors.Join(err, loadErr)
	}
	var theory *paper.Theory // nil where it is not stored
	if data, readErr := os.ReadFile(filepath.Join(p.store().Dir, "theory.json")); readErr == nil {
		err = errors.Join(err, json.Unmarshal(data, &theory))
	}
	if err != nil {
		return err
	}
	claims := paper.Claims(results, theory)
	fmt.Fprintln(p.stdout, paper.ClaimText(claims))
	header, rows := paper.ClaimTable(claims)
	if p.tables == "markdown" {
		header = append(header, "figure, command, what was tried")
		for i, c := range claims {
			rows[i] = append(rows[i], c.Made)
		}
	}
	err = errors.Join(p.write("claims", p.tables)(header, rows),
		p.write("results", p.tables)(paper.ResultsTable(experiments, results)), p.write("defaults", p.tables)(paper.ResultsTable(defaults, results)))
	header, rows = paper.AcrossTable(results)
	p.print(header, rows)
	p.next("reproduce -scale 1")
	return errors.Join(err, p.write("across", p.tables)(header, rows))
}

// write returns what writes a table that has rows to a file of that name, and prints its path.
func (p *program) write(name, format string) func(header []string, rows [][]string) error {
	return func(header []string, rows [][]string) error {
		text, err := paper.TableText(format, header, rows)
		if err != nil || rows == nil {
			return err
		}
		path := filepath.Join(p.out, name+map[string]string{"markdown": ".md", "latex": ".tex", "csv": ".csv"}[format])
		fmt.Fprintln(p.stdout, path)
		return sim.WriteFile(path, []byte(text))
	}
}
