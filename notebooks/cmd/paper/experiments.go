package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/kkbox/sevenzip"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/nb"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// experiments are those of these names in this order, or all of them, on the data
// that was asked for.
func (p *program) experiments(names []string) ([]sim.Experiment, error) {
	all := paper.Experiments()
	var known []string
	for i, e := range all {
		known = append(known, e.Name)
		if p.data != "" {
			all[i] = paper.WithData(e, kkbox.Source{Folder: p.data, Unpacker: sevenzip.Unpacker{}})
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	var chosen []sim.Experiment
	for _, name := range names {
		at := slices.Index(known, name)
		if at < 0 {
			return nil, fmt.Errorf("there is no experiment %q; known are: %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// names checks the names of experiments, which must be at least this many.
func (p *program) names(least int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least {
			return fmt.Errorf("say which experiments: %s list names them", self)
		}
		_, err := p.experiments(args)
		return err
	}
}

func (p *program) store() sim.Store { return sim.Store{Dir: filepath.Join(p.out, "results")} }

func (p *program) list(*cobra.Command, []string) error {
	all, errs := p.experiments(nil)
	var rows [][]string
	for _, e := range all {
		results, err := paper.Stored(p.store(), e)
		errs = errors.Join(errs, err)
		stored := "-"
		if len(results) > 0 {
			stored = fmt.Sprintf("%d of %d, %d steps", len(results), len(e.Entries), results[0].Steps)
		}
		var names []string
		for _, entry := range e.Entries {
			names = append(names, entry.Name)
		}
		rows = append(rows, []string{e.Name, fmt.Sprint(e.Runs), fmt.Sprint(e.Steps), stored, strings.Join(names, "; ")})
	}
	writeTable(p.stdout, []string{"experiment", "runs", "steps", "stored", "algorithms"}, rows)
	p.next("run "+all[0].Name+" -scale 0.1", "lab")
	return errs
}

// writeTable prints columns of text.
func writeTable(to io.Writer, header []string, rows [][]string) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
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
	for _, e := range experiments {
		scale := p.scale
		if scale == 0 {
			scale = paper.UsualScale(e)
		}
		sections = append(sections, section{e.Name, func() error { return p.play(cmd.Context(), e.Scale(scale)) }})
	}
	if err := p.inTurn(cmd.Context(), sections); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\nThe results are in %s\n", p.store().Dir)
	p.next("plot "+strings.Join(args, " "), "table")
	return nil
}

// play runs an experiment under a progress bar, where there is a terminal, or else
// with a line every 10 seconds, and prints how it ended.
func (p *program) play(ctx context.Context, e sim.Experiment) error {
	player, err := p.player() // says once, not in every entry, what is wrong with the backend
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "%d runs of %d steps of %d algorithms\n", e.Runs, e.Steps, len(e.Entries))
	opt, bar := paper.Options(), nb.Bar()
	began, wrote := time.Now(), time.Now()
	opt.Workers, opt.Shard, opt.Shards, opt.Fresh = p.workers, p.part, p.parts, p.fresh
	if opt.Player = player; player != nil {
		opt.Backend += ", on the device what can be"
	}
	var last sim.Status
	opt.Progress = func(st sim.Status) {
		last = st
		bar(st)
		if !p.terminal && time.Since(wrote) > 10*time.Second {
			wrote = time.Now()
			left := time.Since(began).Seconds() * float64(st.Total-st.Done) / float64(max(1, st.Done-st.Served))
			fmt.Fprintf(p.stderr, "%3.0f %%  %.0f s left  %s  regret %.1f  reward %.3g a step\n", 100*float64(st.Done)/float64(st.Total), left, st.Entry, st.Regret, st.Reward)
		}
	}
	results, err := e.Run(ctx, p.store(), opt)
	if p.terminal {
		fmt.Fprint(p.stderr, "\r\x1b[K") // the bar of a run that did not end
	}
	if last.Stale != nil {
		fmt.Fprintf(p.stdout, "stored results of other code, so all were played again: %s\n", strings.Join(last.Stale, ", "))
	}
	for _, w := range last.Warnings {
		fmt.Fprintln(p.stdout, "warning:", w)
	}
	if p.parts > 0 && err == nil && len(results) < len(e.Entries) {
		fmt.Fprintf(p.stdout, "part %d of %d is kept; there are results when all parts are\n", p.part, p.parts)
	}
	if len(results) > 0 {
		table := paper.RegretTable
		if paper.IsMusic(e) {
			table = paper.RewardTable
		}
		header, rows := table(results)
		writeTable(p.stdout, header, rows)
	}
	return err
}

func (p *program) plot(_ *cobra.Command, args []string) error {
	if err := p.draw(args); err != nil {
		return err
	}
	p.next("table", "notebooks")
	return nil
}

// draw draws the experiments of these names, or all that have results. It is an
// error when one that is named has none, or when none has any.
func (p *program) draw(names []string) error {
	experiments, err := p.experiments(names)
	drawn := 0
	for _, e := range experiments {
		results, loadErr := paper.Stored(p.store(), e)
		if len(results) == 0 && len(names) > 0 {
			loadErr = errors.Join(loadErr, fmt.Errorf("nothing is stored of %s in %s: %s run %s makes results", e.Name, p.store().Dir, self, e.Name))
		}
		err = errors.Join(err, loadErr)
		if len(results) == 0 {
			continue
		}
		opt := paper.FigureOptions(e)
		if paper.IsMusic(e) {
			err = errors.Join(err, p.save(e.Name)(figure.AverageReward(results, paper.Episode(results[0].Steps), opt)))
		} else {
			// Beside random choice the others would be one line on a linear axis.
			err = errors.Join(err, p.save(e.Name)(figure.Regret(paper.Without(results, "random"), opt)), p.save(e.Name+"-loglog")(figure.RegretLogLog(results, opt)))
		}
		drawn++
	}
	if err == nil && drawn == 0 {
		err = fmt.Errorf("nothing is stored in %s: %s run NAME makes results", p.store().Dir, self)
	}
	return err
}

// save returns what writes a picture into the folder of figures and prints its path.
func (p *program) save(name string) func(*plot.Plot, error) error {
	return func(picture *plot.Plot, err error) error {
		path := filepath.Join(p.out, "figures", name+".png")
		if err == nil {
			err = figure.Save(picture, path, figure.Width, figure.Height)
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

// judge judges the paper's claims by what is stored, prints them, and keeps them
// as Markdown.
func (p *program) judge() error {
	experiments, err := p.experiments(nil)
	results := map[string][]*sim.Result{}
	for _, e := range experiments {
		found, loadErr := paper.Stored(p.store(), e)
		results[e.Name] = found
		err = errors.Join(err, loadErr)
	}
	var theory *paper.Theory // nil where it is not stored
	if data, readErr := os.ReadFile(p.theoryFile()); readErr == nil {
		err = errors.Join(err, json.Unmarshal(data, &theory))
	}
	if err != nil {
		return err
	}
	claims := paper.Claims(results, theory)
	if err := paper.WriteText(p.stdout, claims, 100); err != nil {
		return err
	}
	var text bytes.Buffer
	header, rows := paper.ClaimTable(claims)
	if err := paper.WriteMarkdown(&text, header, rows); err != nil {
		return err
	}
	path := filepath.Join(p.out, "claims.md")
	fmt.Fprintf(p.stdout, "\n%s\n", path)
	return sim.WriteFile(path, text.Bytes())
}

// theory measures what the theory says, with a fraction of the draws, and keeps it.
func (p *program) theory(ctx context.Context, scale float64) error {
	measured, err := paper.MeasureTheory(ctx, scale)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(measured, "", " ")
	if err != nil {
		return err
	}
	return sim.WriteFile(p.theoryFile(), data)
}

func (p *program) theoryFile() string { return filepath.Join(p.out, "results", "theory.json") }
