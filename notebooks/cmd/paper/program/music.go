package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/kkbox/sevenzip"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// withData puts the music experiments on the files of -data, or on the synthetic
// twin, whose files are kept in the output folder. It reads nothing.
func (p *program) withData() error {
	p.source = kkbox.Source{}
	if p.Data != "" {
		folder, err := filepath.Abs(p.Data)
		if err != nil {
			return fmt.Errorf("-data is %q: %w", p.Data, err)
		}
		p.source = kkbox.Source{Folder: folder, Unpacker: sevenzip.Unpacker{}}
	} else if cache, err := p.Folder("data"); err == nil {
		p.source.Cache = cache
	} // else there is no output folder, which the command will say if it needs one
	for _, all := range []*[]sim.Experiment{&p.experiments, &p.tuning} {
		*all = slices.Clone(*all)
		for i, e := range *all {
			(*all)[i] = paper.WithData(e, p.source)
		}
	}
	return nil
}

// openData reads the data, and makes it first if need be, where music is among
// the experiments. Later that takes no time. What is said about it goes to
// stderr.
func (p *program) openData(experiments []sim.Experiment) error {
	if !slices.ContainsFunc(experiments, paper.IsMusic) {
		return nil
	}
	told := map[string]bool{}
	began := time.Now()
	data, report, err := p.source.Open(func(task string, _, _ int64) {
		// What takes no second is not worth a line.
		if !told[task] && time.Since(began) > time.Second {
			told[task] = true
			fmt.Fprintln(p.Stderr, task)
		}
	})
	if err != nil {
		return err
	}
	kind := "synthetic data"
	if p.source.Folder != "" {
		kind = p.source.Folder
		for _, w := range report.Warnings {
			fmt.Fprintf(p.Stderr, "warning: %s: %s\n", kind, w)
		}
	}
	fmt.Fprintf(p.Stderr, "%s: %d users, %d songs, %d rows, %.1f %% of them with another listen within a month\n",
		kind, len(data.Users), len(data.Songs), len(data.User), 100*report.TargetMean)
	return nil
}

// identifyData reads the data of -data, without which stored results cannot be
// told from those on other data. Results on the twin need no data.
func (p *program) identifyData(experiments []sim.Experiment) error {
	if p.source.Folder == "" {
		return nil
	}
	return p.openData(experiments)
}
