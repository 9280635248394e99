package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/contextrec/contextrec/envs/sim"
)

// ErrOtherJob is the error of Run in a task of a job that is not the experiment's.
var ErrOtherJob = errors.New("submit: this task is of a job with another experiment, or other settings of it")

// InTask returns whether this process is a task of a job.
func InTask() bool { return os.Getenv("PAPER_JOB") != "" }

// Run plays an experiment as its Run method does, with the folder results of out as the
// store; in a task of a job it plays the task's shard.
func Run(ctx context.Context, out string, e sim.Experiment, opt sim.Options) ([]*sim.Result, error) {
	store := sim.Store{Dir: filepath.Join(out, "results")}
	if !InTask() {
		return e.Run(ctx, store, opt)
	}
	d, err := describeWithProgram(out, e)
	if err == nil && os.Getenv("PAPER_JOB") != filepath.Base(d.dir) {
		err = fmt.Errorf("%w: %s, not %s", ErrOtherJob, os.Getenv("PAPER_JOB"), filepath.Base(d.dir))
	}
	if err == nil {
		_, err = fmt.Sscan(os.Getenv("JOB_COMPLETION_INDEX")+" "+os.Getenv("PAPER_TASKS"), &opt.Shard, &opt.Shards)
	}
	if err == nil {
		err = d.begin()
	}
	if err != nil {
		return nil, err
	}
	opt.Shard++
	return e.Run(ctx, store, opt)
}

// Status is how far a submitted experiment is. Runs are those of all entries.
type Status struct {
	Experiment     string
	Steps          int    // of a run
	Runs, Finished int    // in all, and in the store
	Folder         string // of the job
}

func (s Status) String() string {
	text := fmt.Sprintf("%s, %d steps: %d of %d runs are finished", s.Experiment, s.Steps, s.Finished, s.Runs)
	if s.Finished < s.Runs {
		text += "; how far the others are, logs say: " + s.Folder
	}
	return text
}

// Look returns how far the jobs are that have the folder results of out as the store. It
// reads the store alone.
func Look(out string) ([]Status, error) {
	files, _ := fs.Glob(os.DirFS(out), "results/*/*.job/job.json")
	var all []Status
	for _, file := range files {
		var d described
		file = filepath.Join(out, file)
		text, err := os.ReadFile(file)
		if err = cmp.Or(err, json.Unmarshal(text, &d)); err != nil {
			return all, fmt.Errorf("submit: %s: %w", file, err)
		}
		all = append(all, look(filepath.Dir(file), d))
	}
	return all, nil
}

// StatusOf returns how far an experiment is. Without a job of it there is no Folder.
func StatusOf(out string, e sim.Experiment) (Status, error) {
	d, err := describe(out, e)
	if err != nil {
		return Status{}, err
	}
	s := look(d.dir, d)
	if _, err := os.Stat(filepath.Join(d.dir, "job.json")); err != nil {
		s.Folder = ""
	}
	return s, nil
}

func look(dir string, d described) Status {
	s := Status{Experiment: d.Experiment, Steps: d.Steps, Runs: d.Runs * len(d.Results), Folder: dir}
	for _, result := range d.Results {
		path := filepath.Join(filepath.Dir(dir), result)
		finished := len(sim.PartRuns(strings.TrimSuffix(path, ".csv") + ".parts"))
		if _, err := os.Stat(path); err == nil {
			finished = d.Runs
		}
		s.Finished += finished
	}
	return s
}
