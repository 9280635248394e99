package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/gomlx/compute"
	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// benchShape is a size of problem and networks, and for how many runs at once it
// is timed.
type benchShape struct {
	name    string // the first word is the one to choose it by
	spec    envs.Spec
	config  pgcr.Config
	runs    []int
	problem envs.Problem // of such a size, for whole steps; or nil
}

// The shapes of the paper's problems: the toys, and music without and with what
// a state would add to a context. The last is what music with states really
// learns from: rivals of a context come from sessions, so that an update has twice
// the contexts.
var benchShapes = []benchShape{
	{"toy 40-10-1, B=64, M=5", envs.Spec{Candidates: 5, Dim: 40}, pgcr.Config{Hidden: []int{10}, BatchSize: 64}, []int{1, 20, 256}, envs.Bernoulli{}},
	{"music 94-60-20-1, B=256, M=10", envs.Spec{Candidates: 10, Dim: 94}, pgcr.Config{Hidden: []int{60, 20}, BatchSize: 256}, []int{1, 5}, envs.Linear{Candidates: 10, Dim: 94}},
	{"music 379-90-20-1, B=256, M=10", envs.Spec{Candidates: 10, Dim: 379}, pgcr.Config{Hidden: []int{90, 20}, BatchSize: 256}, []int{1, 5}, envs.Linear{Candidates: 10, Dim: 379}},
	{"sessions 379-90-20-1, B=256, M=10", envs.Spec{Candidates: 10, Dim: 379, State: 285}, pgcr.Config{Hidden: []int{90, 20}, BatchSize: 256}, []int{1, 5}, nil},
}

// bench is one call of the command.
type bench struct {
	only    *regexp.Regexp
	time    time.Duration // that a number is measured
	clock   string        // "wall" or "cpu"
	python  string
	machine string // without what follows
	gpus    string // ", NVIDIA H200", or nothing
	version string
	timings []paper.Timing
}

func (p *program) benchCommand() *cobra.Command {
	b := &bench{}
	var only, format string
	cmd := &cobra.Command{
		Use:   cli.Bench.Use,
		Short: cli.Bench.Short,
		Long: `Bench prints how many microseconds a decision (act), an update and a whole step
(environment, decision, history, update and metrics) take: of all R runs that are
computed together and, in brackets, of one of them. A number is the median of five
turns, and the spread is half of the distance between the fastest and the slowest
of them, of the row's least steady number.

With -clock cpu it is the time that the processor spends on this program, which on
a busy machine is what wall time would be on an idle one, as long as there is one
thread: rows of several threads and of device loops are left out.

The backends are those that the program links and that can be opened, or the one
that GOMLX_BACKEND names. On XLA, rows of the device loop are of updates and steps
that the device repeats by itself. The rows of PyTorch and JAX are of the same
update, written for them in notebooks/cmd/peers; they are there where -python has
the library. What is not there is told on stderr.

A benchmark is called shape/R=20/update/backend/host, or .../device, and -only
chooses by a regular expression: -only '^toy/R=20/' or -only /update/.`,
		Args: cli.Takes(0, 0, "no names", "paper bench -only toy"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			show, ok := benchFormats[format]
			if !ok {
				return cli.Usage(fmt.Errorf("-format is %q, want text, markdown or csv", format))
			}
			if b.time <= 0 {
				return cli.Usage(fmt.Errorf("-time is %v, want more", b.time))
			}
			if b.clock != "wall" && b.clock != "cpu" {
				return cli.Usage(fmt.Errorf("-clock is %q, want wall or cpu", b.clock))
			}
			if _, ok := processorTime(); b.clock == "cpu" && !ok {
				return errors.New("-clock cpu: this system does not tell a program its time of the processor")
			}
			var err error
			if b.only, err = regexp.Compile(only); err != nil {
				return cli.Usage(fmt.Errorf("-only: %w", err))
			}
			err = p.bench(cmd.Context(), b)
			if cmd.Context().Err() != nil {
				fmt.Fprintln(p.Stderr, "stopped: these are the rows that were measured by then")
				p.Told = true
			}
			if len(b.timings) == 0 && err == nil {
				return fmt.Errorf("no benchmark that is there is called %q", only)
			}
			return errors.Join(err, show(p, b.timings))
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, markdown, or csv, as in "+paper.SpeedFolder)
	cmd.Flags().StringVar(&only, "only", "", "run the benchmarks whose names this regular expression matches")
	cmd.Flags().DurationVar(&b.time, "time", time.Second, "how long a number is measured")
	cmd.Flags().StringVar(&b.clock, "clock", "wall", "wall, or cpu: time of the processor, for a machine that others use")
	cmd.Flags().StringVar(&b.python, "python", "python3", "the Python that has PyTorch or JAX")
	return cmd
}

// bench fills b.timings. It goes on after a backend that fails.
func (p *program) bench(ctx context.Context, b *bench) error {
	b.version = paper.Options().Version
	b.machine, b.gpus = machine(), gpus(ctx)
	var errs []error
	for _, config := range benchBackends() {
		backend, err := pgcr.OpenConfig(config)
		if err != nil {
			fmt.Fprintf(p.Stderr, "no rows of %s: %v\n", config, err)
			continue
		}
		errs = append(errs, b.backend(ctx, config, backend))
		backend.Finalize()
		if ctx.Err() != nil {
			return errors.Join(errs...)
		}
	}
	root, err := p.Repository()
	if err != nil {
		fmt.Fprintf(p.Stderr, "no rows of PyTorch and JAX: %v\n", err)
		return errors.Join(errs...)
	}
	for _, peer := range peers {
		err := b.peer(ctx, root, peer)
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		if err != nil {
			fmt.Fprintf(p.Stderr, "no rows of %s: %s\n", peer.name, firstLine(err))
		}
	}
	return errors.Join(errs...)
}

// benchBackends are the configurations to try.
func benchBackends() []string {
	if config := os.Getenv(compute.ConfigEnvVar); config != "" {
		return []string{config}
	}
	configs := []string{pgcr.SequentialGo + ",parallelism=0"}
	if slices.Contains(compute.List(), "xla") {
		configs = append(configs, "xla:cpu", "xla:cuda")
	}
	return configs
}

// backend times what is asked for on a backend.
func (b *bench) backend(ctx context.Context, config string, backend compute.Backend) error {
	device := backend.Name() == "xla"
	name, _, _ := strings.Cut(config, ",")
	if !device {
		name, _, _ = strings.Cut(config, ":")
		if isVectorised() {
			name += " simd"
		}
	}
	var errs []error
	for _, s := range benchShapes {
		s.config.Backend = backend
		for _, runs := range s.runs {
			threads := []int{0}
			if !device {
				threads = []int{1}
				if n := min(runtime.GOMAXPROCS(0), runs); n > 1 && runs%n == 0 {
					threads = append(threads, n)
				}
			}
			for _, threads := range threads {
				at := paper.Timing{Backend: name, Loop: "host", Threads: threads, Shape: s.name, Runs: runs}
				errs = append(errs, b.host(ctx, s, at))
			}
			if device {
				errs = append(errs, b.device(ctx, s, paper.Timing{Backend: name, Loop: "device", Shape: s.name, Runs: runs}))
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return errors.Join(errs...)
}

// wants tells whether an operation is to be timed.
func (b *bench) wants(t paper.Timing, operation string) bool {
	if b.clock == "cpu" && (t.Threads != 1 || t.Loop == "device") {
		return false
	}
	shape, _, _ := strings.Cut(t.Shape, " ")
	return b.only.MatchString(fmt.Sprintf("%s/R=%d/%s/%s/%s", shape, t.Runs, operation, t.Backend, t.Loop))
}

// add keeps a timing of turns, each the time of an operation.
func (b *bench) add(t paper.Timing, operation string, turns []time.Duration) {
	slices.Sort(turns)
	microseconds := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	t.Machine, t.Version, t.Clock, t.Operation = b.machine, b.version, b.clock, operation
	// JAX tells what computed after its version; the others compute on the processor.
	if strings.HasPrefix(t.Backend, "xla:cuda") || strings.HasSuffix(t.Backend, " gpu") {
		t.Machine += b.gpus
	}
	t.Micros, t.Low, t.High = microseconds(turns[len(turns)/2]), microseconds(turns[0]), microseconds(turns[len(turns)-1])
	b.timings = append(b.timings, t)
}

// host times operations that the host calls.
func (b *bench) host(ctx context.Context, s benchShape, at paper.Timing) error {
	for _, operation := range []string{"act", "update", "step"} {
		if !b.wants(at, operation) || operation == "step" && s.problem == nil {
			continue
		}
		op, err := s.operation(operation, at.Runs, max(at.Threads, 1))
		if err != nil {
			return err
		}
		turns, err := b.measure(ctx, op)
		if err != nil {
			return err
		}
		b.add(at, operation, turns)
	}
	return nil
}

const turns = 5

var started = time.Now()

// now reads the clock.
func (b *bench) now() time.Duration {
	if b.clock == "cpu" {
		t, _ := processorTime()
		return t
	}
	return time.Since(started)
}

// measure calls op, which does an operation so many times, and returns what an
// operation took in each turn. The calls before them, of which the first compiles,
// do not count.
func (b *bench) measure(ctx context.Context, op func(ctx context.Context, times int) error) ([]time.Duration, error) {
	if err := op(ctx, 1); err != nil {
		return nil, err
	}
	times := 1
	for begin := b.now(); ; {
		last := b.now()
		if err := op(ctx, times); err != nil {
			return nil, err
		}
		took := max(b.now()-last, time.Microsecond)
		if b.now()-begin > b.time/2 || took > b.time/turns {
			times = max(1, int(float64(times)*float64(b.time/turns)/float64(took)))
			break
		}
		times *= 2
	}
	took := make([]time.Duration, turns)
	for i := range took {
		begin := b.now()
		if err := op(ctx, times); err != nil {
			return nil, err
		}
		took[i] = max(b.now()-begin, 1) / time.Duration(times)
	}
	return took, nil
}

// operation returns a function that does an operation so many times, in equal
// parts of the runs on several goroutines, as experiments do.
func (s benchShape) operation(operation string, runs, workers int) (func(ctx context.Context, times int) error, error) {
	parts := make([]func(ctx context.Context, times int) error, workers)
	for w := range parts {
		seeds := make([]uint64, runs/workers)
		for r := range seeds {
			seeds[r] = uint64(w*len(seeds) + r)
		}
		policy, err := s.config.New(s.spec, seeds)
		if err != nil {
			return nil, err
		}
		if operation == "step" {
			env, err := s.problem.New(seeds)
			if err != nil {
				return nil, err
			}
			nothing := sim.RecorderFunc(func(int, envs.Transition, []float64) {})
			parts[w] = func(ctx context.Context, times int) error { return sim.Play(ctx, env, policy, times, nothing) }
			continue
		}
		steps, next := s.steps(len(seeds)), 0
		parts[w] = func(ctx context.Context, times int) error {
			for range times {
				if err := ctx.Err(); err != nil {
					return err
				}
				tr := steps[next%len(steps)]
				next++
				var err error
				if operation == "act" {
					err = policy.Act(tr.Actions, tr.Observation)
				} else {
					err = policy.Update(tr)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	return func(ctx context.Context, times int) error {
		errs := make([]error, workers)
		var group sync.WaitGroup
		for w, part := range parts {
			group.Go(func() { errs[w] = part(ctx, times) })
		}
		group.Wait()
		return errors.Join(errs...)
	}, nil
}

// steps are some steps of a problem of this shape.
func (s benchShape) steps(runs int) []envs.Transition {
	rng := envs.NewRand(1, "bench")
	m, d := s.spec.Candidates, s.spec.Dim
	steps := make([]envs.Transition, 16)
	for i := range steps {
		tr := envs.Transition{
			Observation: envs.Observation{Runs: runs, Candidates: m, Dim: d, Contexts: make([]float32, runs*m*d)},
			Actions:     make([]int, runs),
			Outcome:     envs.Outcome{Reward: make([]float32, runs), Discount: make([]float32, runs)},
		}
		for j := range tr.Contexts {
			if candidate := j / d % m; candidate > 0 && j%d < s.spec.State {
				tr.Contexts[j] = tr.Contexts[j-d] // the state is the same for all candidates
			} else {
				tr.Contexts[j] = rng.Float32()
			}
		}
		if s.spec.State > 0 {
			tr.Session = make([]int32, runs)
		}
		for r := range runs {
			tr.Actions[r], tr.Reward[r] = rng.IntN(m), rng.Float32()
			if tr.Session != nil {
				tr.Session[r] = int32(rng.IntN(4))
			}
		}
		steps[i] = tr
	}
	return steps
}

// device times updates and steps that the device repeats by itself.
func (b *bench) device(ctx context.Context, s benchShape, at paper.Timing) error {
	if !b.wants(at, "update") && !b.wants(at, "step") {
		return nil
	}
	seeds := make([]uint64, at.Runs)
	for r := range seeds {
		seeds[r] = uint64(r)
	}
	policy, err := s.config.New(s.spec, seeds)
	if err != nil {
		return err
	}
	script, err := policy.(*pgcr.Agent).Script(s.spec.State > 0)
	if err != nil {
		return err
	}
	updates, err := ondevice.TimeUpdate(ctx, script, s.spec, turns, b.time/turns)
	if err != nil {
		return err
	}
	if b.wants(at, "update") {
		b.add(at, "update", updates)
	}
	each := max(slices.Min(updates), 1)
	if s.problem == nil || !b.wants(at, "step") {
		return nil
	}
	// The recorder hears of the steps of a piece when the device has played it. In
	// the first two pieces the program is compiled and the host gets ahead.
	piece := int(min(1000, max(20, b.time/turns/each)))
	steps := (2 + turns) * piece
	var ends []time.Time
	config := s.config
	config.ActorRate, config.CriticRate = 0.001, 0.001
	err = ondevice.Player{Piece: piece}.Play(ctx, sim.Match{Problem: s.problem, Algorithm: config,
		ProblemSeeds: seeds, PolicySeeds: seeds, Steps: steps, Begin: func() {},
		Recorder: sim.RecorderFunc(func(step int, _ envs.Transition, _ []float64) {
			if step >= 2*piece && step%piece == 0 {
				ends = append(ends, time.Now())
			}
		})})
	if err != nil {
		return err
	}
	took := make([]time.Duration, turns)
	for i := range took {
		took[i] = ends[i+1].Sub(ends[i]) / time.Duration(piece)
	}
	b.add(at, "step", took)
	return nil
}

// benchFormats print timings.
var benchFormats = map[string]func(p *program, timings []paper.Timing) error{
	"text": func(p *program, timings []paper.Timing) error {
		if len(timings) == 0 {
			return nil
		}
		for i, timings := range paper.TimingOrigins(timings) {
			fmt.Fprintf(p.Stdout, "%s%s\n\n", between(i), origin(timings))
			header, rows := paper.TimingTable(timings)
			w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, strings.ToUpper(strings.Join(header, "\t")))
			for _, row := range rows {
				fmt.Fprintln(w, strings.Join(row, "\t"))
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
		return nil
	},
	"markdown": func(p *program, timings []paper.Timing) error {
		if len(timings) == 0 {
			return nil
		}
		for i, timings := range paper.TimingOrigins(timings) {
			fmt.Fprintf(p.Stdout, "%s%s\n\n", between(i), origin(timings))
			header, rows := paper.TimingTable(timings)
			line := func(cells []string) { fmt.Fprintf(p.Stdout, "| %s |\n", strings.Join(cells, " | ")) }
			line(header)
			line(slices.Repeat([]string{"---"}, len(header)))
			for _, row := range rows {
				line(row)
			}
		}
		return nil
	},
	"csv": func(p *program, timings []paper.Timing) error { return paper.WriteTimings(p.Stdout, timings) },
}

// between is what stands before a table: nothing before the first.
func between(table int) string {
	if table == 0 {
		return ""
	}
	return "\n"
}

func origin(timings []paper.Timing) string {
	return paper.TimingOrigin(timings[0]) + "; microseconds of all R runs, in brackets of one"
}

// machine says what computes here: the processor, its widest vector units and the
// number of CPUs.
func machine() string {
	name := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			switch strings.TrimSpace(key) {
			case "model name":
				name = strings.TrimSpace(value)
			case "flags":
				units := ""
				for flag := range strings.FieldsSeq(value) {
					switch {
					case flag == "avx512f":
						units = ", AVX-512"
					case flag == "avx2" && units == "":
						units = ", AVX2"
					}
				}
				name += units
			}
			if strings.TrimSpace(line) == "" { // the next processor
				break
			}
		}
	}
	return name + fmt.Sprintf(", %d CPUs", runtime.NumCPU())
}

// gpus names the NVIDIA GPUs, one of which computes, after a comma; each kind once.
func gpus(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=name", "--format=csv,noheader").Output()
	if err != nil {
		return ""
	}
	var names []string
	for gpu := range strings.Lines(string(out)) {
		if gpu = strings.TrimSpace(gpu); gpu != "" && !slices.Contains(names, gpu) {
			names = append(names, gpu)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", " + strings.Join(names, ", ")
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// isVectorised tells whether this program was built with Go's vectorised matrix
// products.
func isVectorised() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "GOEXPERIMENT" && slices.Contains(strings.Split(s.Value, ","), "simd") {
			return true
		}
	}
	return false
}
