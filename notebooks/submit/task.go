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
	"time"

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
	d, err := describe(out, e)
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
		return nil, roomy(err)
	}
	opt.Shard++
	file, told, show := filepath.Join(d.dir, fmt.Sprint("task-", opt.Shard)), time.Time{}, opt.Progress
	defer os.Remove(file)
	opt.Progress = func(st sim.Status) {
		if show != nil {
			show(st)
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			text := fmt.Sprintln((st.Total-st.Done+int64(e.Steps)-1)/int64(e.Steps), int(st.Left().Seconds()))
			sim.WriteFile(file, []byte(text)) // where this is an error, writing results is too
		}
	}
	results, err := e.Run(ctx, store, opt)
	return results, roomy(err)
}

// A task tells how many runs it still has to finish, and the seconds that this takes; 0: not
// known. One that has not for long is dead. The clocks of machines must not differ by as much.
const tellEvery, dead = 10 * time.Second, 2 * time.Minute

// Status is how far a submitted experiment is. Runs are those of all entries.
type Status struct {
	Experiment     string
	Steps          int           // of a run
	Runs, Finished int           // in all, and in the store
	Underway       int           // what tasks play, or are going to
	Left           time.Duration // until those are finished; 0: not known
	Folder         string        // of the job
	unseen         bool          // by the tasks that look for the folder
}

func (s Status) String() string {
	text := fmt.Sprintf("%s, %d steps: %d of %d runs are finished", s.Experiment, s.Steps, s.Finished, s.Runs)
	if s.Finished < s.Runs {
		text += fmt.Sprintf(", %d under way, %d missing; logs are in %s", s.Underway, s.Runs-s.Finished-s.Underway, s.Folder)
	}
	if s.Left > 0 {
		text += fmt.Sprintf("; %v left for those under way", s.Left)
	}
	if s.unseen {
		text += "; two tasks have not yet found that folder: if squeue lists none, sbatch has refused them, or nodes do not share it, or not at this path, and no other task will start"
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
	files, _ := fs.Glob(os.DirFS(dir), "task-*")
	for _, file := range files {
		var runs, seconds int
		text, _ := os.ReadFile(filepath.Join(dir, file))
		info, err := os.Stat(filepath.Join(dir, file))
		if err == nil && time.Since(info.ModTime()) < dead {
			fmt.Sscan(string(text), &runs, &seconds) // nothing where the task has just ended
			s.Underway, s.Left = s.Underway+runs, max(s.Left, time.Duration(seconds)*time.Second)
		}
	}
	unseen, _ := fs.Glob(os.DirFS(dir), "unseen/*")
	s.unseen = unseen != nil
	s.Underway = min(s.Underway, s.Runs-s.Finished) // two jobs may play the same
	return s
}
