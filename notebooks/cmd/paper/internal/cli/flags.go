package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags are those of all commands. The zero value of a number is its default,
// which may depend on the command.
type Flags struct {
	Scale          float64
	Workers, Stack int
	Out            string
	OnDevice       string // "off", "auto" or "on"
	Data           string
}

func (f *Flags) declare(root *cobra.Command, ready func() error) {
	set := root.PersistentFlags()
	set.Float64Var(&f.Scale, "scale", 0, "fraction of the steps (default: 1 for run, 0.01 of the music experiments; 0.1 for notebooks, 0.0002 of the music; 0.05 for reproduce; the largest that is finished for plot and table)")
	set.IntVar(&f.Workers, "workers", 0, "runs at the same time (default: the number of CPUs)")
	set.IntVar(&f.Stack, "stack", 0, "runs that a worker steps together (default: chosen)")
	set.StringVar(&f.Out, "out", "", "folder of all that is written (default: notebooks/out of this repository)")
	set.StringVar(&f.Data, "data", "", "folder of the KKBox files, for the music experiments (default: synthetic data, made once and kept in the output folder)")
	set.StringVar(&f.OnDevice, "ondevice", "off", "off: the host calls the backend for every step; auto: on XLA, the device plays what it can by itself, many steps a call; on: it plays everything, or says why not")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("scale") && !(f.Scale > 0 && !math.IsInf(f.Scale, 1)) {
			return Usage(fmt.Errorf("-scale is %v, want a positive number", f.Scale))
		}
		if cmd.Flags().Changed("workers") && f.Workers < 1 {
			return Usage(fmt.Errorf("-workers is %d, want a positive number", f.Workers))
		}
		if cmd.Flags().Changed("stack") && f.Stack < 1 {
			return Usage(fmt.Errorf("-stack is %d, want a positive number", f.Stack))
		}
		if f.OnDevice != "auto" && f.OnDevice != "on" && f.OnDevice != "off" {
			return Usage(fmt.Errorf("-ondevice is %q, want auto, on or off", f.OnDevice))
		}
		return ready()
	}
}

// ScaleOr is the scale that was asked for, or the command's default.
func (f *Flags) ScaleOr(usual float64) float64 {
	if f.Scale == 0 {
		return usual
	}
	return f.Scale
}

// DoubleDashes writes long flags as cobra wants them, with two dashes, where in Go
// programs one is usual. What follows a flag that takes a value is joined to it,
// whatever it begins with.
func DoubleDashes(root *cobra.Command, args []string) []string {
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
		return Usage(fmt.Errorf("-%s wants a value: %s", valueless.GetFlag().Name, valueless.GetFlag().Usage))
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		name, value := invalid.GetFlag().Name, invalid.GetValue()
		kind, known := valueKinds[invalid.GetFlag().Value.Type()]
		switch {
		case errors.Is(err, strconv.ErrRange) && strings.HasPrefix(value, "-"):
			return Usage(fmt.Errorf("-%s is %q, which is too small", name, value))
		case errors.Is(err, strconv.ErrRange):
			return Usage(fmt.Errorf("-%s is %q, which is too large", name, value))
		case known:
			return Usage(fmt.Errorf("-%s is %q, want %s", name, value, kind))
		}
		return Usage(err)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return Usage(err)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	hint := ""
	if near := Nearest(unknown.GetSpecifiedName(), known); near != "" {
		hint = fmt.Sprintf(". Did you mean -%s?", near)
	}
	return Usage(fmt.Errorf("there is no flag -%s%s", unknown.GetSpecifiedName(), hint))
}
