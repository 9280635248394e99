package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/paper"
)

// section is one part of a command's work.
type section struct {
	title string
	do    func() error
}

// inTurn does the sections under numbered headings. One that fails keeps none of
// the others from being done; an interrupt ends all.
func (p *program) inTurn(ctx context.Context, sections []section) error {
	var failed []string
	for i, s := range sections {
		fmt.Fprintf(p.stdout, "\n== %d of %d: %s\n", i+1, len(sections), s.title)
		began := time.Now()
		err := s.do()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, s.title)
			fmt.Fprintln(p.stderr, err)
			continue
		}
		fmt.Fprintf(p.stdout, "%.1f s\n", time.Since(began).Seconds())
	}
	if failed != nil {
		return fmt.Errorf("failed, for the reasons above: %s", strings.Join(failed, ", "))
	}
	return nil
}

const (
	reproduceScale = 0.05
	theoryScale    = 0.1 // of the draws
)

// reproduce does all but what plays music.
func (p *program) reproduce(cmd *cobra.Command, _ []string) error {
	ctx, began := cmd.Context(), time.Now()
	theoryScale := cmp.Or(p.scale, theoryScale)
	p.scale = cmp.Or(p.scale, reproduceScale)
	experiments, err := p.experiments(nil)
	if err != nil {
		return err
	}
	experiments = slices.DeleteFunc(experiments, paper.IsMusic)
	fmt.Fprintf(p.stdout, "Everything at scale %v, into %s; -scale 1 plays all of the paper's steps\n", p.scale, p.out)

	var names []string
	sections := []section{{"the kernel of the notebooks", func() error { return p.prepareKernel(ctx, false) }}}
	for _, e := range experiments {
		names = append(names, e.Name)
		sections = append(sections, section{e.Name, func() error { return p.play(ctx, e.Scale(p.scale)) }})
	}
	sections = append(sections,
		section{"theory", func() error { return p.theory(ctx, theoryScale) }},
		section{"figures", func() error { return p.draw(names) }},
		section{"notebooks", func() error {
			books, err := notebooksOf(p.root)
			playsMusic := func(name string) bool { return strings.HasPrefix(name, "music-") }
			return errors.Join(err, p.execute(ctx, slices.DeleteFunc(books, playsMusic)))
		}},
		section{"claims", p.judge})
	if err := p.inTurn(ctx, sections); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\nThat took %v. %s has results, figures, executed notebooks and claims.md\n", time.Since(began).Round(time.Second), p.out)
	p.next("reproduce -scale 1", "lab")
	return nil
}
