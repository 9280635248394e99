package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// The scales of reproduce, where none is asked for: on two processors and with
// nothing built, it ends within ten minutes. The theory study takes little of
// them, and at its scale it has all the draws of p_hat.
const (
	reproduceScale = 0.05
	theoryScale    = 0.1
)

func (p *program) reproduceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   cli.Reproduce.Use,
		Short: cli.Reproduce.Short,
		Args:  cli.Takes(0, 0, "no names", "paper reproduce -scale 0.1, or paper run toy-linear"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reproduce(cmd.Context())
		},
	}
}

// reproduce runs all phases, but nothing that plays music. A phase that fails is
// told at the end, and the others are run nevertheless; an interrupt ends all.
func (p *program) reproduce(ctx context.Context) error {
	began := time.Now()
	theory := p.ScaleOr(theoryScale)
	p.Scale = p.ScaleOr(reproduceScale) // figures and claims are of this scale too
	p.reproducing = true
	experiments := slices.DeleteFunc(slices.Clone(p.experiments), paper.IsMusic)
	root, err := p.Repository()
	if err != nil {
		return err
	}
	out, err := p.Folder()
	if err != nil {
		return err
	}
	store, err := p.store()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "Everything at scale %v, into %s\n", p.Scale, out)
	if p.Scale < 1 {
		fmt.Fprintln(p.Stdout, "The runs are shorter than the paper's: -scale 1 plays all of its steps")
	}

	var errs []error
	phase := func(name string, do func() error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(p.Stdout, "\n== %s\n", name)
		start := time.Now()
		err := do()
		took := time.Since(start).Round(100 * time.Millisecond)
		if err != nil {
			cli.Report(p.Stderr, err)
			errs = append(errs, fmt.Errorf("%s failed: see above", name))
			fmt.Fprintf(p.Stdout, "== %s: failed after %v\n", name, took)
			return err
		}
		fmt.Fprintf(p.Stdout, "== %s: %v\n", name, took)
		return nil
	}

	noKernel := phase("kernel of the notebooks", func() error {
		err := p.Install(ctx, root, p.Stderr)
		if err == nil {
			fmt.Fprintln(p.Stdout, clone.Programs(root))
		}
		return err
	})
	for _, e := range experiments {
		phase(e.Name, func() error { return p.play(ctx, store, e.Scale(p.Scale)) })
	}
	phase("theory", func() error {
		stored, err := paper.StoredTheory(store)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && stored.Scale >= theory {
			fmt.Fprintf(p.Stdout, "stored already, of scale %v; without %s it is measured again\n", stored.Scale, filepath.Join(store.Dir, paper.TheoryFile))
			return nil
		}
		result, err := p.theory(ctx, theory)
		if err != nil {
			return err
		}
		result.Scale = theory
		return result.Save(store)
	})
	phase("figures", func() error { return p.plotAll(ctx, experiments, true) })
	phase("notebooks", func() error {
		if noKernel != nil {
			return errors.New("there is no kernel to execute them")
		}
		names, err := cli.Notebooks(root, nil)
		if err != nil {
			return err
		}
		return p.executeAll(ctx, root, slices.DeleteFunc(names, playsMusic), p.Scale)
	})
	phase("claims", func() error {
		claims, _, err := p.claims()
		if claims == nil {
			return err
		}
		return errors.Join(err, p.writeClaims(claims, filepath.Join(out, "claims.md")))
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(p.Stdout, "\nThat took %v. Results, figures, executed notebooks and claims.md are in %s\n", time.Since(began).Round(time.Second), out)
	return errors.Join(errs...)
}

// writeClaims prints the claims and keeps them as Markdown.
func (p *program) writeClaims(claims []paper.Claim, path string) error {
	if err := paper.WriteText(p.Stdout, claims, tableWidth); err != nil {
		return err
	}
	err := paper.ReplaceFile(path, func(w io.Writer) error { return paper.WriteMarkdown(w, claims) })
	if err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, "\n"+path)
	return nil
}
