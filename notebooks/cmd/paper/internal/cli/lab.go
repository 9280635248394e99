package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/jupyter"
)

// labFlags are those of the lab command.
type labFlags struct {
	port               int
	browser, noBrowser bool
	log                bool
}

// Lab is the command that opens the notebooks.
func (h *Host) Lab() *cobra.Command {
	var f labFlags
	cmd := &cobra.Command{
		Use:   "lab [NAME]",
		Short: "Open the notebooks, or one of them, in JupyterLab or Jupyter Notebook",
		Args:  Takes(0, 1, "one notebook at most", "paper lab quickstart"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("port") && (f.port < 1 || f.port > 65535) {
				return Usage(fmt.Errorf("-port is %d, want 1 to 65535", f.port))
			}
			if f.browser && f.noBrowser {
				return Usage(errors.New("-browser and -no-browser exclude each other"))
			}
			return h.lab(cmd.Context(), args, f)
		},
	}
	cmd.Flags().IntVar(&f.port, "port", 0, "port of the server (default: Jupyter's, or the next that is free)")
	cmd.Flags().BoolVar(&f.browser, "browser", false, "open a browser (default: where there is a display)")
	cmd.Flags().BoolVar(&f.noBrowser, "no-browser", false, "open no browser, only say the address")
	cmd.Flags().BoolVar(&f.log, "log", false, "show what Jupyter and the kernels say about their work")
	return cmd
}

// lab serves the notebooks until it is interrupted, which is how one ends it
// and no failure.
func (h *Host) lab(ctx context.Context, names []string, f labFlags) error {
	root, err := h.Repository()
	if err != nil {
		return err
	}
	notebook := ""
	if len(names) > 0 {
		files, err := Notebooks(root, names)
		if err != nil {
			return err
		}
		notebook = files[0]
	}
	env, err := h.labEnv()
	if err != nil {
		return err
	}
	if err := hasKernel(); err != nil {
		return err
	}
	front, err := jupyter.Find(ctx)
	if err != nil {
		return err
	}
	kernel, err := kernelOf(ctx, root)
	if err != nil {
		return err
	}
	opt := jupyter.Options{Folder: filepath.Join(root, "notebooks"), Kernel: kernel, Port: f.port, Env: env}
	stderr := &LockedWriter{W: h.Stderr}
	if f.log {
		opt.Log = stderr
	}
	if !clone.HasKernel(root) {
		opt.Prepare = func(ctx context.Context) error {
			if err := h.Install(ctx, root, stderr); err != nil {
				return err
			}
			fmt.Fprintln(stderr, "the notebook kernel is built")
			return nil
		}
	}
	opt.Compile = func(ctx context.Context) {
		defer clone.SayIfSlow(stderr, "compiling what cells import (about a minute, once): the first cell waits for it")()
		clone.CompileForCells(ctx, root)
	}
	// A terminal that is closed ends it too, but for nohup.
	if !signal.Ignored(syscall.SIGHUP) {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	// Opening a browser ends with the server.
	served, end := context.WithCancel(ctx)
	defer end()
	var opened sync.WaitGroup
	opt.Ready = func(s jupyter.Server) {
		page := s.URL(notebook)
		fmt.Fprintf(h.Stdout, "%s %s has the notebooks, until Ctrl-C, at\n%s\n", front.Name, front.Version, page)
		if s.Password {
			fmt.Fprintln(stderr, "it may ask for the password that your settings of Jupyter have")
		}
		if s.Open {
			fmt.Fprintln(stderr, "warning: your settings of Jupyter let in everybody on this machine, without a token")
		}
		if f.browser || !f.noBrowser && jupyter.HasDisplay() {
			opened.Go(func() {
				if err := jupyter.OpenBrowser(served, page); err != nil && served.Err() == nil {
					fmt.Fprintln(stderr, err)
				}
			})
		}
	}
	err = jupyter.Serve(ctx, front, opt)
	end()
	opened.Wait()
	if err != nil {
		return err
	}
	fmt.Fprintln(h.Stderr, "Jupyter and its kernels have ended")
	return nil
}

// labEnv are the settings that notebooks read, where they are asked for.
func (h *Host) labEnv() (env []string, err error) {
	if h.Scale != 0 {
		env = append(env, fmt.Sprintf("PAPER_SCALE=%v", h.Scale))
	}
	if h.Out != "" {
		out, err := h.Folder()
		if err != nil {
			return nil, err
		}
		env = append(env, "PAPER_OUT="+out)
	}
	if h.Data != "" {
		data, err := filepath.Abs(h.Data)
		if err != nil {
			return nil, fmt.Errorf("-data is %q: %w", h.Data, err)
		}
		env = append(env, "PAPER_DATA="+data)
	}
	return env, nil
}
