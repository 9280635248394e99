package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/jupyter"
)

// labFlags are those of the lab command.
type labFlags struct {
	port               int
	browser, noBrowser bool
	log                bool
}

func (p *program) labCommand() *cobra.Command {
	var f labFlags
	cmd := &cobra.Command{
		Use:   "lab [NAME]",
		Short: "Open the notebooks, or one of them, in JupyterLab or Jupyter Notebook",
		Args:  takes(0, 1, "one notebook at most", "paper lab quickstart"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("port") && (f.port < 1 || f.port > 65535) {
				return usageError{fmt.Errorf("-port is %d, want 1 to 65535", f.port)}
			}
			if f.browser && f.noBrowser {
				return usageError{errors.New("-browser and -no-browser exclude each other")}
			}
			return p.lab(cmd.Context(), args, f)
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
func (p *program) lab(ctx context.Context, names []string, f labFlags) error {
	root, err := p.repository()
	if err != nil {
		return err
	}
	notebook := ""
	if len(names) > 0 {
		files, err := notebooks(root, names)
		if err != nil {
			return err
		}
		notebook = files[0]
	}
	env, err := p.labEnv()
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
	stderr := &lockedWriter{w: p.stderr}
	if f.log {
		opt.Log = stderr
	}
	built := make(chan struct{})
	opt.Prepare = func(ctx context.Context) error {
		begin := time.Now()
		_, err := p.install(ctx, root, stderr)
		if err != nil {
			return err
		}
		if time.Since(begin) > time.Second {
			fmt.Fprintln(stderr, "the notebook kernel is built: cells run")
		}
		close(built)
		return nil
	}
	// A terminal that is closed ends it too.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	// What begins when pages are there ends with the server.
	served, end := context.WithCancel(ctx)
	defer end()
	var begun sync.WaitGroup
	opt.Ready = func(s jupyter.Server) {
		page := s.URL(notebook)
		fmt.Fprintf(p.stdout, "%s %s has the notebooks, until Ctrl-C, at\n%s\n", front.Name, front.Version, page)
		if s.Password {
			fmt.Fprintln(stderr, "it may ask for the password that your settings of Jupyter have")
		}
		if s.Open {
			fmt.Fprintln(stderr, "warning: your settings of Jupyter let in everybody on this machine, without a token")
		}
		begun.Go(func() {
			select {
			case <-built:
				compileForCells(served, root, kernel)
			case <-served.Done():
			}
		})
		if f.browser || !f.noBrowser && jupyter.HasDisplay() {
			begun.Go(func() {
				if err := jupyter.OpenBrowser(served, page); err != nil && served.Err() == nil {
					fmt.Fprintln(stderr, err)
				}
			})
		}
	}
	err = jupyter.Serve(ctx, front, opt)
	end()
	begun.Wait()
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stderr, "Jupyter and its kernels have ended")
	return nil
}

// labEnv are the settings that notebooks read, where they are asked for.
func (p *program) labEnv() (env []string, err error) {
	if p.scale != 0 {
		env = append(env, fmt.Sprintf("PAPER_SCALE=%v", p.scale))
	}
	if p.out != "" {
		out, err := p.folder()
		if err != nil {
			return nil, err
		}
		env = append(env, "PAPER_OUT="+out)
	}
	if p.source.Folder != "" {
		env = append(env, "PAPER_DATA="+p.source.Folder)
	}
	return env, nil
}

// hasKernel tells why there can be no kernel on this system.
func hasKernel() error {
	if runtime.GOOS == "windows" {
		return errors.New("the kernel needs Linux or macOS; on Windows it runs in WSL")
	}
	return nil
}

// kernelOf says how the kernel of a clone is started, once it is built.
func kernelOf(ctx context.Context, root string) (jupyter.Kernel, error) {
	goPath, err := goProgram()
	if err != nil {
		return jupyter.Kernel{}, err
	}
	binDir := programsOf(root)
	return jupyter.Kernel{
		Repository: root,
		Program:    filepath.Join(binDir, "gonb"), Go: goPath, BuildFlags: cellFlags(),
		Env: kernelEnv(ctx, binDir, goPath),
	}, nil
}

// compileForCells compiles the packages that the cells import, before the first
// cell, which otherwise takes as long. It does so as the kernel does, for with
// other flags they are other packages. A failure is the cells' to tell.
func compileForCells(ctx context.Context, root string, kernel jupyter.Kernel) {
	cmd := exec.CommandContext(ctx, kernel.Go, slices.Concat([]string{"build"}, kernel.BuildFlags, []string{"./notebooks/nb", "./envs/..."})...)
	cmd.Dir = root
	cmd.Env = append(append(os.Environ(), kernel.Env...), "PWD="+root, "GOWORK=off")
	interruptible(cmd)
	cmd.Run()
}

func (p *program) kernelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Install the Go kernel for VS Code and for Jupyter servers of your own, or remove it",
		Args:  takes(0, 0, "install or uninstall", "paper kernel install"),
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("what about the kernel? paper kernel install, or paper kernel uninstall")}
		},
	}
	var force bool
	install := &cobra.Command{
		Use:   "install",
		Short: "Declare the kernel in your folder of kernels",
		Args:  takes(0, 0, "no names", "paper kernel install"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.installForUser(cmd.Context(), force) },
	}
	uninstall := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what install has written",
		Args:  takes(0, 0, "no names", "paper kernel uninstall"),
		RunE:  func(*cobra.Command, []string) error { return p.uninstallForUser(force) },
	}
	install.Flags().BoolVar(&force, "force", false, "replace the kernel of another clone, or of another installation")
	uninstall.Flags().BoolVar(&force, "force", false, "remove the kernel of another clone too")
	cmd.AddCommand(install, uninstall)
	return cmd
}

func (p *program) installForUser(ctx context.Context, force bool) error {
	if err := hasKernel(); err != nil {
		return err
	}
	root, err := p.repository()
	if err != nil {
		return err
	}
	kernel, err := kernelOf(ctx, root)
	if err != nil {
		return err
	}
	if _, err := p.install(ctx, root, p.stderr); err != nil {
		return err
	}
	done, err := kernel.Install(force)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "the kernel \"Go (gonb)\" of %s is installed in %s\n", root, done.Folder)
	if done.Before != "" && done.Before != root {
		fmt.Fprintf(p.stdout, "it takes the place of %s\n", done.Before)
	}
	defer sayIfSlow(p.stderr, "compiling what its cells import (about a minute, once), so that the first cell need not")()
	compileForCells(ctx, root, kernel)
	return ctx.Err()
}

func (p *program) uninstallForUser(force bool) error {
	root, err := p.repository()
	if err != nil {
		return err
	}
	done, err := jupyter.Kernel{Repository: root}.Uninstall(force)
	if err != nil {
		return err
	}
	if done.Before == "" {
		fmt.Fprintf(p.stdout, "no kernel is installed in %s\n", done.Folder)
		return nil
	}
	fmt.Fprintf(p.stdout, "the kernel of %s is removed from %s\n", done.Before, done.Folder)
	return nil
}
