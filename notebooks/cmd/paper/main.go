// Paper runs the experiments of "Policy Gradients for Contextual Recommendations" (Pan et al., WWW
// 2019), draws its figures and judges its claims. paper -h lists the commands. What is run is
// declared in package paper. Figures and claims are of the largest scale that is stored. Ctrl-C
// keeps what is finished, and the same command goes on from there. The exit status is 1 when
// something failed, 2 when the command line is wrong, and 130 when it was interrupted.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/notebooks/submit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// self is how a user who has typed the README's commands calls this program.
const self = "go run ./notebooks/cmd/paper"

// program is the command line: flags, and where it writes to.
type program struct {
	stdout, stderr io.Writer
	started        bool // the command line was right

	root        string  // of this repository
	out         string  // folder of results
	data        string  // folder of the KKBox files; "": synthetic data
	scale       float64 // 0: not given
	device      string  // auto, on or off
	shard       string  // part/parts
	part, parts int     // 1 to parts; 0: all
	fresh       bool    // make again what is stored
	runs        int     // 0: as declared
	seed        uint64  // as declared where it was not given
	seedGiven   bool
	following   []string // commands that come next

	figures string   // format of plot's files
	width   float64  // of figures in inches
	only    []string // names of the entries that are drawn; nil: all
	tables  string   // format of table's files
	dir     string   // of lab's copy
	watch   bool     // the status
	job     submit.Job
	show    bool // the job's text, not submit it
}

// command runs a command line and returns the exit status.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr}
	root := p.commands()
	for i, a := range args {
		if oneDash.MatchString(a) {
			args[i] = "-" + a
		}
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		p.tellNext(cmd)
		return 0
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "interrupted %s\nthe same command goes on from there; a notebook begins again\n", strings.TrimSuffix(err.Error(), ": "+context.Canceled.Error()))
		return 130
	case !p.started:
		fmt.Fprintf(stderr, "error: %v\n%s%s -h says how it is called\n", err, self, strings.TrimPrefix(cmd.CommandPath(), "paper"))
		return 2
	}
	fmt.Fprintf(stderr, "error: %v\n", err)
	return 1
}

// oneDash is a flag as Go's commands have them, of which cobra's have two dashes.
var oneDash = regexp.MustCompile("^-[a-z]{2}")

func (p *program) commands() *cobra.Command {
	root := &cobra.Command{
		Use: "paper", Short: "The experiments of Policy Gradients for Contextual Recommendations (Pan et al., WWW 2019)",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: p.check,
	}
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().StringVar(&p.out, "out", "", "folder of everything that is written and read (default: notebooks/out of this repository)")
	root.PersistentFlags().StringVar(&p.data, "data", os.Getenv("PAPER_DATA"), "folder of the KKBox files for the music experiments (default: synthetic data)")
	root.AddCommand(
		&cobra.Command{Use: "list [NAME...]", Short: "The experiments and what is stored of them, with names the algorithms too", Args: p.names, RunE: p.list},
		&cobra.Command{Use: "run NAME...", Short: "Run experiments, or go on with what was begun; tuning-NAME is the search for an experiment's settings, ablation, when and collapse are studies of ours", Args: cobra.MatchAll(cobra.MinimumNArgs(1), p.names), RunE: p.run},
		&cobra.Command{Use: "plot [NAME...]", Short: "Draw figures of stored results", Args: p.names, RunE: p.plot},
		&cobra.Command{Use: "table", Short: "Judge the paper's claims by stored results, and compare algorithms across problems", Args: cobra.NoArgs, RunE: p.table},
		&cobra.Command{Use: "notebooks [NAME...]", Short: "Execute the notebooks", RunE: p.notebooks},
		&cobra.Command{Use: "export NAME", Short: "Write what a toy problem offers and pays to the standard output, for programs in other languages", Args: p.oneName, RunE: p.export},
		&cobra.Command{Use: "submit NAME [-- ARGUMENTS]", Short: "Have an experiment played by Slurm or Kubernetes; arguments are for sbatch or kubectl (see go doc ./notebooks/submit)", Args: p.oneName, RunE: p.submit},
		&cobra.Command{Use: "status", Short: "How far submitted experiments are, as their results tell", Args: cobra.NoArgs, RunE: p.status},
		&cobra.Command{Use: "cancel JOB [-- ARGUMENTS]", Short: "Cancel what was submitted; what is finished is kept", Args: cobra.MinimumNArgs(1), RunE: cancel},
		&cobra.Command{Use: "reproduce", Short: "Run, plot, notebooks and table, but for the music experiments", Args: cobra.NoArgs, RunE: p.reproduce},
		&cobra.Command{Use: "lab [-- JUPYTER'S ARGUMENTS]", Short: "Open a copy of the notebooks in JupyterLab or Jupyter Notebook", RunE: p.lab},
		&cobra.Command{Use: "kernel install", Short: "Declare the notebooks' kernel gonb, for this user, to Jupyter and editors", Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"install"}, RunE: p.installKernel},
	)
	root.AddCommand(p.logCommands()...)

	short, home := fmt.Sprint(paper.ShortScale(paper.Linear()), " of toy problems"), cmp.Or(os.Getenv("HOME"), os.TempDir())
	scales := map[string]string{"run": "1, and 0.01 of the music", "submit": "as for run", "export": "1", "notebooks": short + ", 200 steps of music", "reproduce": short}
	for _, c := range root.Commands() {
		flags, is := c.Flags(), func(names ...string) bool { return slices.Contains(names, c.Name()) }
		if scales[c.Name()] != "" {
			flags.Float64Var(&p.scale, "scale", 0, "fraction of the steps (default: "+scales[c.Name()]+")")
		}
		if is("run", "reproduce") {
			flags.BoolVar(&p.fresh, "fresh", false, "make all again, whatever is stored")
			flags.StringVar(&p.device, "device", "auto", "loops on the device: auto (with XLA), on or off")
		}
		if is("run", "submit", "export", "list", "plot", "table") {
			flags.IntVar(&p.runs, "runs", 0, "independent runs of every algorithm (default: as declared)")
			flags.Uint64Var(&p.seed, "seed", 0, "of the random numbers (default: as declared)")
		}
		switch c.Name() {
		case "run":
			flags.StringVar(&p.shard, "shard", "", "i/n: play the i-th of n parts of the runs, 1 to n")
		case "plot":
			flags.StringVar(&p.figures, "format", "png", "of the files: png, svg or pdf")
			flags.StringArrayVar(&p.only, "only", nil, "draw this algorithm, and others for which the flag is repeated (default: all)")
			flags.Float64Var(&p.width, "width", float64(figure.Width/vg.Inch), "of a figure in inches")
		case "table":
			flags.StringVar(&p.tables, "format", "markdown", "of the files: markdown, latex or csv")
		case "submit":
			flags.StringVar(&p.job.To, "to", "", "slurm or kubernetes")
			flags.IntVar(&p.job.Tasks, "tasks", 64, "how many tasks share the runs")
			flags.StringVar(&p.job.Image, "image", "", "Kubernetes: the image, which has this program, paper")
			flags.StringVar(&p.job.Claim, "claim", "", "Kubernetes: the volume claim for the results")
			flags.StringVar(&p.job.Queue, "queue", "", "Kubernetes: a queue of Kueue")
			flags.BoolVar(&p.show, "print", false, "only print the batch file or the manifest")
		case "status":
			flags.BoolVar(&p.watch, "watch", false, "look again every 10 seconds until all is finished")
		case "lab":
			flags.StringVar(&p.dir, "dir", filepath.Join(home, "contextrec-notebooks"), "folder of the copy")
		}
	}
	return root
}

// check looks at the values of the flags and finds the folders.
func (p *program) check(cmd *cobra.Command, _ []string) (err error) {
	p.seedGiven = cmd.Flags().Changed("seed")
	switch {
	case cmd.Flags().Changed("scale") && !(p.scale > 0 && p.scale < math.Inf(1)):
		return fmt.Errorf("-scale is %v, want a positive number", p.scale)
	case !(p.width >= 1 && p.width <= 100):
		return fmt.Errorf("-width is %v, want 1 to 100 inches", p.width)
	case !slices.Contains([]string{"png", "svg", "pdf"}, p.figures):
		return fmt.Errorf("-format is %q, want png, svg or pdf", p.figures)
	case !slices.Contains([]string{"markdown", "latex", "csv"}, p.tables):
		return fmt.Errorf("-format is %q, want markdown, latex or csv", p.tables)
	case !slices.Contains([]string{"auto", "on", "off"}, p.device):
		return fmt.Errorf("-device is %q, want auto, on or off", p.device)
	}
	if p.shard != "" {
		if _, err := fmt.Sscanf(p.shard+" ", "%d/%d ", &p.part, &p.parts); err != nil || p.part < 1 || p.part > p.parts {
			return fmt.Errorf("-shard is %q, want i/n with i from 1 to n", p.shard)
		}
	}
	// Where a cluster plays, there is the program alone, and a log may be anywhere.
	if p.root, err = repository(); err != nil && !submit.InTask() && !slices.Contains([]string{"train", "evaluate"}, cmd.Name()) {
		return err
	}
	// Abs fails where there is no working directory, as repository does.
	p.out, _ = filepath.Abs(cmp.Or(p.out, filepath.Join(p.root, "notebooks", "out")))
	if p.data != "" {
		p.data, _ = filepath.Abs(p.data)
	}
	p.started = true
	return nil
}

// repository is the absolute path of this repository, in which the working directory must be.
func repository() (string, error) {
	const module = "github.com/contextrec/contextrec"
	from, err := os.Getwd()
	for dir := from; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(mod), "module "+module+"\n") {
			return dir, nil
		}
	}
	return "", cmp.Or(err, fmt.Errorf("%s is not in the repository of %s: change to its folder", from, module))
}

// next says which commands come next, where this one succeeds.
func (p *program) next(commands ...string) { p.following = commands }

// tellNext tells them, with the flags that lead them to what has been made.
func (p *program) tellNext(cmd *cobra.Command) {
	for i, c := range p.following {
		command, _, _ := cmd.Root().Find(strings.Fields(c)) // there is one
		for _, format := range []string{"runs %v", "seed %v", "data %q", "out %q"} {
			name, _, _ := strings.Cut(format, " ")
			if flag := cmd.Flag(name); flag != nil && flag.Changed && command.Flag(name) != nil {
				c += fmt.Sprintf(" -"+format, flag.Value)
			}
		}
		fmt.Fprintf(p.stdout, "%s %s %s\n", []string{"next:", "     "}[min(i, 1)], self, c)
	}
}
