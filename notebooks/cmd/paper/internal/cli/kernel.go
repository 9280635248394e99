package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/jupyter"
)

// hasKernel tells why there can be no kernel on this system.
func hasKernel() error {
	if runtime.GOOS == "windows" {
		return errors.New("the kernel needs Linux or macOS; on Windows it runs in WSL")
	}
	return nil
}

// kernelOf says how the kernel of a clone is started, once it is built.
func kernelOf(ctx context.Context, root string) (jupyter.Kernel, error) {
	goPath, err := clone.GoProgram()
	if err != nil {
		return jupyter.Kernel{}, err
	}
	binDir := clone.Programs(root)
	return jupyter.Kernel{
		Repository: root,
		Program:    filepath.Join(binDir, "gonb"),
		Go:         goPath, CellGo: filepath.Join(binDir, "cellgo"), BuildFlags: clone.CellFlags(),
		Env: clone.KernelEnv(ctx, binDir, goPath),
	}, nil
}

// Kernel is the command that installs and removes the kernel.
func (h *Host) Kernel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Install the Go kernel for VS Code and for Jupyter servers of your own, or remove it",
		Args:  Takes(0, 0, "install or uninstall", "paper kernel install"),
		RunE: func(*cobra.Command, []string) error {
			return Usage(errors.New("what about the kernel? paper kernel install, or paper kernel uninstall"))
		},
	}
	var force bool
	install := &cobra.Command{
		Use:   "install",
		Short: "Declare the kernel in your folder of kernels",
		Args:  Takes(0, 0, "no names", "paper kernel install"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return h.installForUser(cmd.Context(), force) },
	}
	uninstall := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what install has written",
		Args:  Takes(0, 0, "no names", "paper kernel uninstall"),
		RunE:  func(*cobra.Command, []string) error { return h.uninstallForUser(force) },
	}
	install.Flags().BoolVar(&force, "force", false, "replace the kernel of another clone, or of another installation")
	uninstall.Flags().BoolVar(&force, "force", false, "remove the kernel of another clone too")
	cmd.AddCommand(install, uninstall)
	return cmd
}

func (h *Host) installForUser(ctx context.Context, force bool) error {
	if err := hasKernel(); err != nil {
		return err
	}
	root, err := h.Repository()
	if err != nil {
		return err
	}
	kernel, err := kernelOf(ctx, root)
	if err != nil {
		return err
	}
	if err := kernel.Installable(force); err != nil {
		return err
	}
	if err := h.Install(ctx, root, h.Stderr); err != nil {
		return err
	}
	done, err := kernel.Install(force)
	if err != nil {
		return err
	}
	fmt.Fprintf(h.Stdout, "the kernel \"Go (gonb)\" of %s is installed in %s\n", root, done.Folder)
	if done.Before != "" && done.Before != root {
		fmt.Fprintf(h.Stdout, "it takes the place of %s\n", done.Before)
	}
	defer clone.SayIfSlow(h.Stderr, "compiling what its cells import (about a minute, once), so that the first cell need not")()
	clone.CompileForCells(ctx, root)
	return ctx.Err()
}

func (h *Host) uninstallForUser(force bool) error {
	// The clone may be gone: what is not of another one can be removed from anywhere.
	root, _ := h.Repository()
	done, err := jupyter.Kernel{Repository: root}.Uninstall(force)
	if err != nil {
		return err
	}
	if done.Before == "" {
		fmt.Fprintf(h.Stdout, "no kernel is installed in %s\n", done.Folder)
		return nil
	}
	fmt.Fprintf(h.Stdout, "the kernel of %s is removed from %s\n", done.Before, done.Folder)
	return nil
}
