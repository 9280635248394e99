// Cellgo is a go command for the cells of notebooks:
//
//	cellgo GO ARGUMENT...
//
// does what GO, the path of the go command, does with the arguments, but that it says
// nothing where it builds a cell and succeeds. What it builds cells by is kept in the
// folder .recipes beside it, see package cellbuild.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/contextrec/contextrec/notebooks/kernel/cellbuild"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: cellgo GO ARGUMENT...")
		os.Exit(2)
	}
	program, args := os.Args[1], os.Args[2:]
	if built(program, args) {
		return
	}
	err := syscall.Exec(program, os.Args[1:], os.Environ())
	fmt.Fprintf(os.Stderr, "cellgo: %s: %v\n", program, err)
	os.Exit(1)
}

// built builds a cell, if that is what is asked for and all goes well.
func built(program string, args []string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok := cellbuild.Go{Program: program, Recipes: filepath.Join(filepath.Dir(self), ".recipes")}.Build(ctx, args)
	if ctx.Err() != nil {
		os.Exit(130)
	}
	return ok
}
