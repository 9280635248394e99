package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextrec/contextrec/envs/sim"
)

// flags are those of all commands. The zero value of a number is its default,
// which may depend on the command.
type flags struct {
	scale          float64
	workers, stack int
	out            string
	simd           string
	ondevice       string
	data           string
	verbose        bool

	reproducing bool // the command is reproduce
}

func (f *flags) declare(root *cobra.Command, ready func() error) {
	set := root.PersistentFlags()
	set.Float64Var(&f.scale, "scale", 0, "fraction of the steps (default: 1 for run, 0.01 of the music experiments; 0.1 for notebooks, 0.0002 of the music; 0.05 for reproduce; the largest stored for plot and table)")
	set.IntVar(&f.workers, "workers", 0, "runs at the same time (default: the number of CPUs)")
	set.IntVar(&f.stack, "stack", 0, "runs that a worker steps together (default: chosen)")
	set.StringVar(&f.out, "out", "", "folder of all that is written (default: notebooks/out of this repository)")
	set.StringVar(&f.data, "data", "", "folder of the KKBox files, for the music experiments (default: synthetic data, made once and kept in the output folder)")
	set.StringVar(&f.simd, "simd", "auto", "auto: compute for long with vectorised matrix products, in a second build of this program, where there is no vectorised one; off: with the build that this is")
	set.StringVar(&f.ondevice, "ondevice", "off", "off: the host calls the backend for every step; auto: on XLA, the device plays what it can by itself, many steps a call; on: it plays everything, or says why not")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("scale") && !(f.scale > 0 && !math.IsInf(f.scale, 1)) {
			return usageError{fmt.Errorf("-scale is %v, want a positive number", f.scale)}
		}
		if cmd.Flags().Changed("workers") && f.workers < 1 {
			return usageError{fmt.Errorf("-workers is %d, want a positive number", f.workers)}
		}
		if cmd.Flags().Changed("stack") && f.stack < 1 {
			return usageError{fmt.Errorf("-stack is %d, want a positive number", f.stack)}
		}
		if f.simd != "auto" && f.simd != "off" {
			return usageError{fmt.Errorf("-simd is %q, want auto or off", f.simd)}
		}
		if f.ondevice != "auto" && f.ondevice != "on" && f.ondevice != "off" {
			return usageError{fmt.Errorf("-ondevice is %q, want auto, on or off", f.ondevice)}
		}
		return ready()
	}
}

// scaleOr is the scale that was asked for, or the command's default.
func (f *flags) scaleOr(usual float64) float64 {
	if f.scale == 0 {
		return usual
	}
	return f.scale
}

// folder is the absolute path of the output folder, or of one in it.
func (p *program) folder(elements ...string) (string, error) {
	out := p.out
	if out == "" {
		root, err := p.repository()
		if err != nil {
			return "", fmt.Errorf("%w; or say where to write with -out", err)
		}
		out = filepath.Join(root, "notebooks", "out")
	}
	return filepath.Abs(filepath.Join(append([]string{out}, elements...)...))
}

func (p *program) store() (sim.Store, error) {
	dir, err := p.folder("results")
	return sim.Store{Dir: dir}, err
}

// filledStore is the store of a command that only reads. A folder that was asked
// for has to be there; the usual one need not.
func (p *program) filledStore() (sim.Store, error) {
	store, err := p.store()
	if err != nil || p.out == "" {
		return store, err
	}
	folder, err := p.folder()
	if err != nil {
		return store, err
	}
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return store, fmt.Errorf("there is no folder %s, where -out says that results are", folder)
	case err != nil:
		return store, fmt.Errorf("-out: %w", err)
	case !info.IsDir():
		return store, fmt.Errorf("%s is no folder, and -out says that results are in it", folder)
	}
	return store, nil
}

// doubleDashes writes long flags as cobra wants them, with two dashes, where in Go
// programs one is usual. What follows a flag that takes a value is joined to it,
// whatever it begins with.
func doubleDashes(root *cobra.Command, args []string) []string {
	out := make([]string, 0, len(args)) // nil would mean the arguments of this process
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if len(arg) > 2 && arg[0] == '-' && !strings.ContainsAny(arg[1:2], "-.0123456789") {
			arg = "-" + arg
		}
		if name, ok := strings.CutPrefix(arg, "--"); ok && i+1 < len(args) && takesValue(root, name) {
			i++
			arg += "=" + args[i]
		}
		out = append(out, arg)
	}
	return out
}

// takesValue tells whether a long flag, of any command, takes the next argument.
func takesValue(root *cobra.Command, name string) bool {
	f := root.PersistentFlags().Lookup(name)
	for _, c := range root.Commands() {
		if f == nil {
			f = c.Flags().Lookup(name)
		}
	}
	return f != nil && f.NoOptDefVal == ""
}

// valueKinds are what the kinds of flags want.
var valueKinds = map[string]string{
	"float64": "a number", "int": "a whole number", "uint64": "a whole number that is not negative", "bool": "true or false", "duration": "a time such as 1s",
}

// flagError is what is wrong with the flags of a command.
func flagError(cmd *cobra.Command, err error) error {
	var valueless *pflag.ValueRequiredError
	if errors.As(err, &valueless) {
		return usageError{fmt.Errorf("-%s wants a value: %s", valueless.GetFlag().Name, valueless.GetFlag().Usage)}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		name, value := invalid.GetFlag().Name, invalid.GetValue()
		kind, known := valueKinds[invalid.GetFlag().Value.Type()]
		switch {
		case errors.Is(err, strconv.ErrRange) && strings.HasPrefix(value, "-"):
			return usageError{fmt.Errorf("-%s is %q, which is too small", name, value)}
		case errors.Is(err, strconv.ErrRange):
			return usageError{fmt.Errorf("-%s is %q, which is too large", name, value)}
		case known:
			return usageError{fmt.Errorf("-%s is %q, want %s", name, value, kind)}
		}
		return usageError{err}
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return usageError{err}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	hint := ""
	if near := nearest(unknown.GetSpecifiedName(), known); near != "" {
		hint = fmt.Sprintf(". Did you mean -%s?", near)
	}
	return usageError{fmt.Errorf("there is no flag -%s%s", unknown.GetSpecifiedName(), hint)}
}
