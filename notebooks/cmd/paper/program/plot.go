package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func (p *program) plotCommand() *cobra.Command {
	return &cobra.Command{
		Use:   cli.Plot.Use,
		Short: cli.Plot.Short,
		Args: cli.Arguments(func(_ *cobra.Command, args []string) error {
			_, err := p.named(args)
			return err
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return p.plotAll(cmd.Context(), p.experiments, false)
			}
			experiments, err := p.named(args)
			if err != nil {
				return err
			}
			return p.plotAll(cmd.Context(), experiments, true)
		},
	}
}

// plotAll draws the experiments. Those without results are an error when they
// were named, or when none has any.
func (p *program) plotAll(ctx context.Context, experiments []sim.Experiment, named bool) error {
	store, err := p.filledStore()
	if err != nil {
		return err
	}
	figures, err := p.Folder("figures")
	if err != nil {
		return err
	}
	if err := p.identifyData(experiments); err != nil {
		return err
	}
	var errs []error
	drawn := 0
	for _, e := range experiments {
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		results, err := p.stored(store, e)
		errs = append(errs, err)
		if len(results) == 0 {
			if named {
				errs = append(errs, p.nothingStored(store, e))
			}
			continue
		}
		drawn++
		err = p.plot(figures, e, results)
		errs = append(errs, err)
		if err == nil {
			p.sayMissing(store, e, results)
		}
	}
	if drawn == 0 && !named {
		at, flag := p.askedScale()
		errs = append(errs, fmt.Errorf("there are no results%s in %s: paper run NAME%s makes them", at, store.Dir, flag))
	}
	return errors.Join(errs...)
}

// askedScale is the scale that was asked for in words, and as a flag.
func (p *program) askedScale() (at, flag string) {
	if p.Scale == 0 {
		return "", ""
	}
	return fmt.Sprintf(" at scale %v", p.Scale), fmt.Sprintf(" -scale %v", p.Scale)
}

// nothingStored says how there can be a figure of an experiment without results
// at the scale that was asked for.
func (p *program) nothingStored(store sim.Store, e sim.Experiment) error {
	at, flag := p.askedScale()
	text := fmt.Sprintf("there are no results of %s%s in %s: paper run %s%s makes them", e.Name, at, store.Dir, e.Name, flag)
	stored, _ := paper.StoredScales(store, e) // what cannot be read is not there
	var scales []string
	for _, results := range stored {
		scales = append(scales, fmt.Sprint(scaleOf(e, results[0].Steps)))
	}
	if scales != nil {
		text += "; there are some at scale " + strings.Join(scales, ", ")
	}
	return errors.New(text)
}

// sayMissing says which contenders the figures are without because nothing is
// stored of them, and how to get them. Of what is stored and was refused, the
// error has been told.
func (p *program) sayMissing(store sim.Store, e sim.Experiment, results []*sim.Result) {
	scaled := e
	scaled.Steps = results[0].Steps
	var missing []string
	for _, c := range e.Contenders {
		if slices.ContainsFunc(results, func(r *sim.Result) bool { return r.Contender == c.Name }) {
			continue
		}
		if _, err := store.Load(scaled, c); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, c.Name)
		}
	}
	if len(missing) == 0 {
		return
	}
	const most = 12
	if more := len(missing) - most; more > 0 {
		missing = append(missing[:most], fmt.Sprintf("and %d others", more))
	}
	what := "drawn"
	if paper.IsMusic(e) && len(paper.Without(results, paper.References...)) == 0 {
		what = "drawn with nothing but lines to compare with,"
	}
	scale := fmt.Sprint(scaleOf(e, results[0].Steps))
	command := "paper run " + e.Name
	if results[0].Steps != e.Scale(paper.UsualScale(e)).Steps {
		command += " -scale " + scale
	}
	for _, f := range []struct{ name, value string }{{"-out", p.Out}, {"-data", p.Data}} {
		if f.value != "" {
			command += " " + f.name + " " + shellWord(f.value)
		}
	}
	fmt.Fprintf(p.Stderr, "%s: %s without %s, of which nothing is stored at scale %s: %s adds them\n", e.Name, what, strings.Join(missing, ", "), scale, command)
}

// shellWord is a text as one word of a shell's command, quoted unless it has
// nothing in it that any shell takes for its own.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:=@%+,-", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// scaleOf is the shortest number by which Scale leaves so many steps.
func scaleOf(e sim.Experiment, steps int) float64 {
	exact := float64(steps) / float64(e.Steps)
	for digits := 1; digits < 17; digits++ {
		short, err := strconv.ParseFloat(strconv.FormatFloat(exact, 'g', digits, 64), 64)
		if err == nil && short > 0 && e.Scale(short).Steps == steps {
			return short
		}
	}
	return exact
}

// drawing is one figure of an experiment.
type drawing struct {
	file string // without .png
	draw func(results []*sim.Result, opt figure.Options) (*plot.Plot, error)
	of   []*sim.Result
	opt  figure.Options
}

// plot draws the figures of one experiment: with standard deviations, with
// intervals, and with logarithmic axes; of a music experiment, and where there is
// no regret, the average reward by episode, without oracles and with them. Of a
// tuning study it draws one of every grid.
func (p *program) plot(dir string, e sim.Experiment, results []*sim.Result) error {
	opt := figure.Options{Title: paper.Titles[e.Name], Palette: paper.Palette}
	if opt.Title == "" {
		opt.Title = e.Name
	}
	interval := opt
	interval.Interval = true
	opt.References, interval.References = paper.References, paper.References
	reward := func(results []*sim.Result, opt figure.Options) (*plot.Plot, error) {
		return figure.AverageReward(results, paper.Episode(results[0].Steps), opt)
	}
	byReward := paper.IsMusic(e) || results[0].Regret == nil
	var drawings []drawing
	switch {
	case slices.ContainsFunc(p.tuning, func(t sim.Experiment) bool { return t.Name == e.Name }):
		for _, g := range paper.Grids(e) {
			if of := g.Of(results); len(of) > 0 {
				file := e.Name + "-" + strings.ReplaceAll(strings.ToLower(g.Contender), " ", "-")
				d := drawing{file, figure.Regret, of, figure.Options{Title: opt.Title + ": " + g.Contender}}
				if byReward {
					d.draw = reward
				}
				drawings = append(drawings, d)
			}
		}
	case byReward:
		told := paper.Without(results, paper.Oracles...)
		if len(told) == 0 {
			told = results
		}
		drawings = []drawing{{e.Name, reward, told, opt}, {e.Name + "-interval", reward, told, interval}}
		if len(told) < len(results) {
			drawings = append(drawings, drawing{e.Name + "-oracles", reward, results, opt})
		}
	default:
		// Random choice loses so much more than the others that these could not be
		// told apart on its axis.
		learners := paper.Without(results, paper.Random)
		if len(learners) == 0 {
			learners = results
		}
		drawings = []drawing{
			{e.Name, figure.Regret, learners, opt},
			{e.Name + "-interval", figure.Regret, learners, interval},
			{e.Name + "-loglog", figure.RegretLogLog, results, opt},
		}
	}
	for _, d := range drawings {
		drawn, err := d.draw(d.of, d.opt)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, d.file+".png")
		if err := figure.Save(drawn, path, figure.Width, figure.Height); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout, path)
	}
	return nil
}

// stored returns what the store holds of an experiment, at the scale that was
// asked for or the largest.
func (p *program) stored(store sim.Store, e sim.Experiment) ([]*sim.Result, error) {
	if p.Scale == 0 || p.reproducing && paper.IsMusic(e) { // which has not the scale of the others
		return paper.Stored(store, e)
	}
	var results []*sim.Result
	var errs []error
	e = e.Scale(p.Scale)
	for _, c := range e.Contenders {
		r, err := store.Load(e, c)
		switch {
		case err == nil:
			results = append(results, r)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return results, errors.Join(errs...)
}
