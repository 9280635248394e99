package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/paper"
)

type section struct {
	title string
	do    func() error
}

// inTurn does the sections under numbered headings. One that fails keeps none of
// the others from being done; an interrupt ends all and is no failure.
func (p *program) inTurn(ctx context.Context, sections []section) error {
	var failed []string
	for i, s := range sections {
		fmt.Fprintf(p.stdout, "\n== %d of %d: %s\n", i+1, len(sections), s.title)
		began := time.Now()
		err := s.do()
		if ctx.Err() != nil {
			return fmt.Errorf("in %s: %w", s.title, cmp.Or(err, ctx.Err()))
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

// reproduce does all but what plays music.
func (p *program) reproduce(cmd *cobra.Command, _ []string) error {
	ctx, began := cmd.Context(), time.Now()
	experiments := slices.DeleteFunc(p.experiments(), paper.IsMusic)
	sections := []section{{"the kernel of the notebooks", func() error { return p.prepareKernel(ctx) }}}
	for _, e := range experiments {
		sections = append(sections, section{e.Name, func() error {
			_, err := p.play(ctx, e.Scale(cmp.Or(p.scale, paper.ShortScale(e))))
			return err
		}})
	}
	books := slices.DeleteFunc(notebooksOf(p.root), func(name string) bool { return strings.HasPrefix(name, "music-") })
	sections = append(sections,
		section{"figures", func() error { return p.plot(cmd, namesOf(experiments)) }},
		section{"notebooks", func() error { return p.execute(ctx, books) }},
		section{"claims", func() error { return p.table(cmd, nil) }})

	scale := cmp.Or(p.scale, paper.ShortScale(experiments[0]))
	minutes := 4.5 + 120*scale*2/float64(runtime.NumCPU()) // measured on 2 idle cores, with nothing built
	fmt.Fprintf(p.stdout, "Makes the toy experiments at %v of the steps, figures, notebooks and claims, in %d sections,\ninto %s.\n"+
		"The first time that takes about %.0f minutes, and more on a busy machine. What is stored of this code is not made again.\n",
		scale, len(sections), p.out, minutes)
	if err := p.inTurn(ctx, sections); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\nThat took %v. %s has results, figures, executed notebooks and claims.md\n", time.Since(began).Round(time.Second), p.out)
	p.next("lab", "reproduce -scale 1")
	return nil
}
