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
	"text/tabwriter"

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

// experiments are those of these names in this order, or those of the paper, on the data that was
// asked for. The name of a study stands for its experiments: "when" for when-0 and the others.
func (p *program) experiments(names []string) (chosen []sim.Experiment, err error) {
	all, studies := paper.Experiments(), paper.Studies()
	if len(names) == 0 {
		names = namesOf(all)
	}
	for _, name := range slices.Sorted(maps.Keys(studies)) {
		all = append(all, studies[name]...)
	}
	for _, name := range names {
		base, search := strings.CutPrefix(name, tuning)
		found := studies[base]
		if k := slices.Index(namesOf(all), base); k >= 0 {
			found = all[k : k+1]
		}
		if found == nil {
			return nil, fmt.Errorf("there is no experiment %q; known are: %s", name, strings.Join(namesOf(all), ", "))
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
	return chosen, nil
}

func namesOf(experiments []sim.Experiment) (names []string) {
	for _, e := range experiments {
		names = append(names, e.Name)
	}
	return names
}

func (p *program) names(_ *cobra.Command, args []string) error {
	_, err := p.experiments(args)
	return err
}

func (p *program) store() sim.Store { return sim.Store{Dir: filepath.Join(p.out, "results")} }

// stored are the results of an experiment, and those of other programs.
func (p *program) stored(e sim.Experiment) ([]*sim.Result, error) {
	results, err := paper.Stored(p.store(), e)
	results, err2 := paper.WithPeers(sim.Store{Dir: filepath.Join(p.out, "peers")}, results)
	return results, errors.Join(err, err2)
}

func (p *program) list(*cobra.Command, []string) error {
	all, errs := p.experiments(nil)
	studies, _ := p.experiments(slices.Sorted(maps.Keys(paper.Studies()))) // which are known
	const row = "%-19s %4v %8v  %s\n"
	fmt.Fprintf(p.stdout, row, "experiment", "runs", "steps", "stored")
	for _, e := range append(all, studies...) {
		results, err := paper.Stored(p.store(), e)
		errs = errors.Join(errs, err)
		var stored []string
		if len(results) > 0 {
			stored = append(stored, fmt.Sprintf("%d of %d algorithms, %d steps", len(results), len(e.Entries), results[0].Steps))
		}
		runs, folder := 0, filepath.Join(p.store().Dir, e.Name)
		files, _ := os.ReadDir(folder) // none before the first run
		for _, file := range files {
			runs += len(sim.PartRuns(filepath.Join(folder, file.Name())))
		}
		if runs > 0 {
			stored = append(stored, fmt.Sprintf("parts: %d runs", runs))
		}
		fmt.Fprintf(p.stdout, row, e.Name, e.Runs, e.Steps, cmp.Or(strings.Join(stored, "; "), "-"))
		line := " "
		for _, entry := range e.Entries {
			if len(line)+len(entry.Name) > 96 {
				fmt.Fprintln(p.stdout, line)
				line = " "
			}
			line += " " + entry.Name + ";"
		}
		fmt.Fprintln(p.stdout, strings.TrimSuffix(line, ";"))
	}
	p.next("run "+all[0].Name+" -scale 0.1", "lab")
	return errs
}

// print prints a table that has rows.
func (p *program) print(header []string, rows [][]string) {
	if rows == nil {
		return
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
}

func (p *program) run(cmd *cobra.Command, args []string) error {
	experiments, err := p.experiments(args)
	if err != nil {
		return err
	}
	var sections []section
	figures := ""
	for _, e := range experiments {
		scaled := e.Scale(cmp.Or(p.scale, paper.UsualScale(e)))
		sections = append(sections, section{e.Name, func() error {
			results, err := p.play(cmd.Context(), scaled)
			search := strings.HasPrefix(e.Name, tuning)
			switch {
			case search && errors.Is(err, submit.ErrOtherJob): // a task of the finals
				_, err = p.play(cmd.Context(), p.round(scaled))
				return err
			case len(results) < len(e.Entries) || search && submit.InTask():
				return err
			case !search:
				figures += " " + e.Name
				return err
			}
			last := paper.Finals(scaled, results)
			finals, err := p.play(cmd.Context(), last)
			if len(finals) == len(last.Entries) {
				p.print(paper.TuningTable(results, finals))
				err = p.write("tuning/"+e.Name, "csv")(paper.TriesTable(results, finals))
			}
			return err
		}})
	}
	if err := p.inTurn(cmd.Context(), sections); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\nThe results are in %s\n", p.store().Dir)
	if figures == "" {
		p.next("list") // of what is there
	} else {
		p.next("plot"+figures, "table")
	}
	return nil
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

func (p *program) plot(_ *cobra.Command, args []string) error {
	err := p.draw(args)
	if err == nil {
		p.next("table", "notebooks")
	}
	return err
}

// draw draws the experiments of these names, or all that have results. It is an
// error when one that is named has none, or when none has any.
func (p *program) draw(names []string) error {
	experiments, err := p.experiments(names)
	drawn := map[string][]*sim.Result{}
	for _, e := range experiments {
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
				err = errors.Join(err, fmt.Errorf("%s has no results of all of these: %s; %s list names its algorithms", e.Name, strings.Join(only, "; "), self))
			}
		}
		if len(results) == 0 {
			continue
		}
		drawn[e.Name] = results
		opt := paper.FigureOptions(e)
		opt.Interval = true
		averaged := paper.IsMusic(e) || results[0].Regret == nil
		// Beside these the others would be one line on a linear axis.
		others := paper.Without(results, map[bool][]string{true: {"true probabilities", "label oracle"}, false: {"random"}}[averaged]...)
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
	return err
}

// save returns what writes a picture into the folder of figures and prints its path.
func (p *program) save(name string) func(*plot.Plot, error) error {
	return func(picture *plot.Plot, err error) error {
		path := filepath.Join(p.out, "figures", name+"."+cmp.Or(p.format, "png"))
		if err == nil {
			width := vg.Length(cmp.Or(p.width, float64(figure.Width/vg.Inch))) * vg.Inch
			err = figure.Save(picture, path, width, width*figure.Height/figure.Width)
		}
		if err == nil {
			fmt.Fprintln(p.stdout, path)
		}
		return err
	}
}

func (p *program) table(*cobra.Command, []string) error {
	err := p.judge()
	if err == nil {
		p.next("reproduce -scale 1")
	}
	return err
}

// judge judges the paper's claims by what is stored, prints them, and keeps them and
// tables of all results.
func (p *program) judge() error {
	experiments, err := p.experiments(nil)
	defaults, _ := p.experiments([]string{"defaults"})
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
	format := cmp.Or(p.format, "markdown")
	header, rows := paper.ClaimTable(claims)
	if format == "markdown" {
		header = append(header, "figure, command, what was tried")
		for i, c := range claims {
			rows[i] = append(rows[i], c.Made)
		}
	}
	err = errors.Join(p.write("claims", format)(header, rows),
		p.write("results", format)(paper.ResultsTable(experiments, results)), p.write("defaults", format)(paper.ResultsTable(defaults, results)))
	header, rows = paper.AcrossTable(results)
	p.print(header, rows)
	return errors.Join(err, p.write("across", format)(header, rows))
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
