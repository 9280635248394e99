package nb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// Run plays an experiment at the scale and into the store that the notebook is
// run with, under a progress bar, and returns the results in the order of the
// contenders. What the store already holds is not played again. An error fails
// the cell, and so does the interrupt button; finished contenders are kept and
// are not played again either.
func Run(e sim.Experiment) []*sim.Result {
	b := newBar()
	opt := paper.OptionsOf(e)
	opt.Progress = b.update
	results, err := e.Scale(ScaleOf(e)).Run(Context(), Store(), opt)
	b.erase()
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted; contenders that are finished are kept in the store: %w", err)
	}
	return Must(results, err)
}

// Scale is the fraction of an experiment's steps to play: the environment
// variable PAPER_SCALE, else [paper.NotebookScale]. A value that is not a
// positive number fails the cell.
func Scale() float64 { return scaleOr(paper.NotebookScale) }

// ScaleOf is Scale, but [paper.MusicNotebookScale] for music experiments where
// PAPER_SCALE is not set.
func ScaleOf(e sim.Experiment) float64 {
	if paper.IsMusic(e) {
		return scaleOr(paper.MusicNotebookScale)
	}
	return Scale()
}

func scaleOr(usual float64) float64 {
	text := os.Getenv("PAPER_SCALE")
	if text == "" {
		return usual
	}
	scale, err := strconv.ParseFloat(text, 64)
	if err != nil || !(scale > 0) || math.IsInf(scale, 1) {
		Check(fmt.Errorf("PAPER_SCALE is %q, want a positive number", text))
	}
	return scale
}

// Store is where results are kept: the folder results in PAPER_OUT, or in
// notebooks/out of this repository where the environment does not set it. The
// repository is looked for from the notebook's folder upwards; a notebook
// outside it without PAPER_OUT fails the cell.
func Store() sim.Store { return sim.Store{Dir: filepath.Join(outFolder(), "results")} }

// Music is the data of the music experiments: the files in the folder that the
// environment variable PAPER_DATA names, or else the synthetic twin, which is
// made once and kept in the folder data beside that of the results. 7z archives
// of the folder are read by unpacker; it is nil where there are none.
func Music(unpacker kkbox.Unpacker) kkbox.Source {
	if folder := os.Getenv("PAPER_DATA"); folder != "" {
		return kkbox.Source{Folder: folder, Unpacker: unpacker}
	}
	return kkbox.Source{Cache: filepath.Join(outFolder(), "data")}
}

func outFolder() string {
	out := os.Getenv("PAPER_OUT")
	if out == "" {
		// The kernel says where the notebook is; a cell may have changed its own
		// working directory.
		dir := os.Getenv("GONB_DIR")
		if dir == "" {
			dir = Must(os.Getwd())
		}
		root, err := clone.Root(dir)
		if err != nil {
			Check(fmt.Errorf("%w, or set PAPER_OUT to the folder for results", err))
		}
		out = filepath.Join(root, "notebooks", "out")
	}
	return out
}

// Context is cancelled by the notebook's interrupt button, or by Ctrl-C. A
// program that does not end within 5 seconds then is killed by the kernel.
func Context() context.Context { return interruptible() }

var interruptible = sync.OnceValue(func() context.Context {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt)
	return ctx
})
