package nb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/notebooks/submit"
)

// Run plays an experiment at its [Scale] and keeps the results in the [Store], under a progress
// bar, and returns them in the order of the entries. What the store already holds is not played
// again, unless the code has changed. An error fails the cell, and so does the interrupt button;
// entries that are finished are kept.
func Run(e sim.Experiment) []*sim.Result {
	opt := paper.Options()
	update, erase := Bar()
	opt.Progress = update
	played := e.Scale(Scale(e))
	results, err := played.Run(Context(), Store(), opt)
	erase()
	Check(err)
	if played.Steps < e.Steps {
		Text(fmt.Sprintf("%d of %d steps; %%env PAPER_SCALE=1 asks for all", played.Steps, e.Steps))
	}
	return results
}

// Submit has an experiment played by a cluster, at the length that it declares, and
// returns the results that are there, in the order of the entries. A cell that runs again
// shows how far the job is. Each task runs a copy of the cell's program, from the
// beginning to this call: what the cells declare goes to the cluster too.
func Submit(e sim.Experiment, job submit.Job) []*sim.Result {
	out := Must(filepath.Abs(Out()))
	if submit.InTask() {
		opt := paper.Options()
		opt.Progress, _ = Bar() // lines of the task's log
		_, err := submit.Run(Context(), out, e, opt)
		if errors.Is(err, submit.ErrOtherJob) { // of another call in the cell
			return nil
		}
		Check(err)
		os.Exit(0)
	}
	s := Must(submit.StatusOf(out, e))
	if s.Finished == s.Runs { // the code may have changed since
		ctx, stop := context.WithCancelCause(Context())
		opt := paper.Options()
		opt.Progress = func(st sim.Status) {
			if st.Stale != nil {
				stop(fmt.Errorf("results of other code have got names that end in .old: remove %s and submit again", s.Folder))
			}
		}
		results, err := e.Run(ctx, Store(), opt)
		Check(cmp.Or(context.Cause(ctx), err))
		return results
	}
	if s.Folder == "" {
		Text(Must(job.Submit(Context(), out, e, os.Args[1:])))
	} else {
		Text(fmt.Sprintf("%v; to submit what is missing again, remove that folder", s))
	}
	var results []*sim.Result
	for _, n := range e.Entries {
		r, err := Store().Load(e, n)
		if !errors.Is(err, fs.ErrNotExist) {
			results = append(results, Must(r, err))
		}
	}
	return results
}

// Scale is the fraction of an experiment's steps that Run plays: the environment
// variable PAPER_SCALE, or else [paper.ShortScale], for which a reader waits. A value
// that is not a positive number fails the cell.
func Scale(e sim.Experiment) float64 {
	text := os.Getenv("PAPER_SCALE")
	if text == "" {
		return paper.ShortScale(e)
	}
	scale, err := strconv.ParseFloat(text, 64)
	if err != nil || !(scale > 0) || math.IsInf(scale, 1) {
		Check(fmt.Errorf("PAPER_SCALE is %q, want a positive number", text))
	}
	return scale
}

// Out is the folder for what notebooks make: the environment variable PAPER_OUT,
// or the folder out beside the notebook.
func Out() string {
	// The kernel says where the notebook is: a cell may change its working directory.
	return cmp.Or(os.Getenv("PAPER_OUT"), filepath.Join(os.Getenv("GONB_DIR"), "out"))
}

// Store is where Run keeps results: the folder results in [Out].
func Store() sim.Store { return sim.Store{Dir: filepath.Join(Out(), "results")} }

// Context is cancelled by the notebook's interrupt button, or by Ctrl-C. A
// program that does not end within 5 seconds then is killed by the kernel.
func Context() context.Context { return interruptible() }

var interruptible = sync.OnceValue(func() context.Context {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // TERM: Slurm's
	return ctx
})

// Bar returns a progress bar for sim.Options.Progress, and what erases it, so that nothing
// of it is stored with the notebook. It is redrawn at most 6 times a second, and shows each
// warning as [Text]. Outside a notebook it is a line on stderr, or where that is no terminal,
// lines as [sim.PrintProgress] writes them.
func Bar() (update func(sim.Status), erase func()) {
	var draw func(sim.Status, string)
	if gonbui.IsNotebook {
		id := gonbui.UniqueId()
		draw = func(st sim.Status, text string) {
			if text != "" {
				text = fmt.Sprintf(`<progress value="%d" max="%d"></progress> <code>%s</code>`, st.Done, st.Total, html.EscapeString(text))
			}
			gonbui.SendData(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextHTML: text}, DisplayID: id})
		}
	} else if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		draw = func(_ sim.Status, text string) { fmt.Fprint(os.Stderr, "\r\x1b[K"+text) }
	} else {
		return sim.PrintProgress(os.Stderr), func() {}
	}
	var drawn time.Time // zero while nothing is shown
	warned := 0
	erase = func() {
		if !drawn.IsZero() {
			draw(sim.Status{}, "")
			Check(flush())
		}
	}
	update = func(st sim.Status) {
		for ; warned < len(st.Warnings); warned++ {
			erase()
			Text("warning: " + st.Warnings[warned])
		}
		if st.Done < st.Total && time.Since(drawn) >= 150*time.Millisecond {
			drawn = time.Now()
			draw(st, st.String())
		}
	}
	return update, erase
}
