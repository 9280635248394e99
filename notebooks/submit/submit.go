// Package submit has an experiment played by a cluster, Slurm or Kubernetes.
//
// A job is a number of equal tasks with one store, each a shard of the experiment. A task keeps every
// run that it has finished. Whatever becomes of it, what is missing is played by submitting again,
// even while the first job runs. The results are the same files, byte for byte, as those of one
// process. Tasks of another build than the one that has begun are refused until all is finished. A
// folder beside the results, which ends in .job, has the program, its logs, and how far the tasks are.
// A search for settings (paper submit tuning-NAME) is two jobs: submitting again when the first round
// is finished has the finals played, and paper run tuning-NAME then prints the table.
//
// Slurm: the store is in a folder that all nodes have, at the same path. The job starts after two
// tasks that look for it there, and never if one does not find it. Tasks run a copy of the program:
// changing the code meanwhile changes nothing. Arguments for sbatch say what a task may use:
// --partition=cpu --time=2:00:00 --cpus-per-task=4, and --array=1-64%8 for 8 of 64 tasks at a time. A
// task that comes to its time limit is queued again.
//
// Kubernetes, 1.29 or later: the store is on a volume claim that many nodes may mount (ReadWriteMany),
// /results in the containers. The program is the image's, such as that of docker/Dockerfile. Arguments
// for kubectl say where: --namespace=research. A task that fails is tried three times more.
package submit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/contextrec/contextrec/envs/sim"
)

// Job says where an experiment is played.
type Job struct {
	To    string   // "slurm" or "kubernetes"
	Tasks int      // at most 1,000, and no more than runs of all entries; default 64
	Args  []string // further arguments for sbatch or kubectl

	// Image of the containers, volume claim with the store, and queue of Kueue, if any,
	// are Kubernetes', and so is Program, which is in the image. Without it, tasks run a
	// copy of this program from the store, and out is the claim on this machine.
	Image, Claim, Queue, Program string
}

//go:embed slurm.sh
var slurmScript string

//go:embed kubernetes.yaml
var kubernetesManifest string

// described is an experiment as this program plays it. Its exported fields are job.json.
type described struct {
	Experiment  string
	Runs, Steps int      // of an entry
	Results     []string // the files of the entries, beside the folder
	Build       string   // SHA-256 of the program
	program     []byte
	dir, copied string // the job's folder, and the program there
}

func describe(out string, e sim.Experiment) (described, error) {
	d := described{Experiment: e.Name, Runs: e.Runs, Steps: e.Steps}
	self, err := os.Executable()
	if err = cmp.Or(e.Validate(), err); err == nil {
		d.program, err = os.ReadFile(self)
	}
	if err != nil {
		return d, err
	}
	for _, n := range e.Entries {
		path, _ := sim.Store{Dir: filepath.Join(out, "results")}.Path(e, n) // Validate has seen the error
		d.Results, d.dir = append(d.Results, filepath.Base(path)), filepath.Dir(path)
	}
	settings := sha256.Sum256([]byte(strings.Join(d.Results, "\n")))
	d.dir = filepath.Join(d.dir, fmt.Sprintf("%x.job", settings[:4]))
	d.Build = fmt.Sprintf("%x", sha256.Sum256(d.program))
	d.copied = filepath.Join(d.dir, "program-"+d.Build[:12])
	return d, nil
}

// begin makes the job's folder, or finds that of a job before it. Runs of two builds
// could differ, and must not come together.
func (d described) begin() error {
	file := filepath.Join(d.dir, "job.json")
	var was described
	text, err := os.ReadFile(file)
	if err == nil && json.Unmarshal(text, &was) == nil && was.Build != d.Build {
		if s := look(d.dir, was); s.Finished < s.Runs {
			return fmt.Errorf("submit: another build of the program has begun %s: go on with that one, %.12s, or remove %s and "+
				"the folders %s/*.parts to begin anew with this one, %.12s", d.Experiment, was.Build, d.dir, filepath.Dir(d.dir), d.Build)
		}
	}
	text, _ = json.MarshalIndent(d, "", " ") // numbers and strings
	return sim.WriteFile(file, text)
}

// Text is the batch file or the manifest of a job whose tasks run the program with these
// arguments and keep results in the folder results of out. Nothing is written or started.
func (j Job) Text(out string, e sim.Experiment, args []string) (string, error) {
	d, err := describe(out, e)
	program, word, template := d.copied, shellWord, slurmScript
	switch {
	case err != nil:
		return "", err
	case j.Tasks < 0 || j.Tasks > 1000:
		return "", fmt.Errorf("submit: Tasks is %d, want 1 to 1,000: a task plays many runs", j.Tasks)
	case j.To == "kubernetes" && j.Image != "" && j.Claim != "":
		inside, _ := filepath.Rel(out, d.copied)
		program, word, template = cmp.Or(j.Program, "/results/"+filepath.ToSlash(inside)), strconv.Quote, kubernetesManifest
	case j.To != "slurm" || j.Image+j.Claim+j.Queue != "":
		return "", fmt.Errorf("submit: want To slurm, or kubernetes with an Image and a Claim; it is %q with %q and %q, Queue %q", j.To, j.Image, j.Claim, j.Queue)
	}
	command, options, queue := []string{word(program)}, "", ""
	for _, arg := range args {
		command = append(command, word(arg))
	}
	for _, arg := range j.Args {
		options += " " + strconv.Quote(arg)
	}
	if j.Queue != "" {
		queue = "kueue.x-k8s.io/queue-name: " + strconv.Quote(j.Queue)
	}
	// Every cluster takes the name, and no two jobs have it.
	name := fmt.Sprintf("paper-%.30s-%.6s", notInNames.ReplaceAllString(strings.ToLower(e.Name), "-"), strings.ToLower(rand.Text()))
	return strings.NewReplacer("{{NAME}}", name, "{{JOB}}", filepath.Base(d.dir),
		"{{TASKS}}", strconv.Itoa(min(cmp.Or(j.Tasks, 64), e.Runs*len(e.Entries))), "{{OUT}}", shellWord(out),
		"{{LOG}}", strconv.Quote(strings.ReplaceAll(d.dir, "%", "%%")+"/%A_%a.log"), " {{OPTIONS}}", options,
		"{{SHELL}}", strings.Join(command, " "), "{{COMMAND}}", strings.Join(command, ", "),
		"{{IMAGE}}", strconv.Quote(j.Image), "{{CLAIM}}", strconv.Quote(j.Claim), "{{QUEUE}}", queue).Replace(template), nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// The word of a shell; those of a line #SBATCH and of YAML are quoted as Go's.
func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Submit submits a job, of which [Job.Text] is the batch file or the manifest, and returns what
// there is to know of it. Runs that are in the store are not played again.
func (j Job) Submit(ctx context.Context, out string, e sim.Experiment, args []string) (said string, err error) {
	defer func() { err = roomy(err) }()
	d, err := describe(out, e)
	text, err2 := j.Text(out, e, args)
	if err = cmp.Or(err, err2); j.Program == "" && err == nil {
		err = d.begin()
		if _, there := os.Stat(d.copied); there != nil && err == nil {
			err = cmp.Or(sim.WriteFile(d.copied, d.program), os.Chmod(d.copied, 0o755))
		}
	}
	if err != nil {
		return "", err
	}
	if j.To == "kubernetes" {
		name, err := call(ctx, text, append([]string{"kubectl", "apply", "-o", "name", "-f", "-"}, j.Args...))
		name = strings.TrimPrefix(name, "job.batch/")
		return fmt.Sprintf("submitted %s; kubectl describe pods -l job-name=%[1]s says why no task starts, paper cancel %[1]s cancels it", name), err
	}
	unseen := filepath.Join(d.dir, "unseen") // has a file for each task that has not found the program
	if err := cmp.Or(sim.WriteFile(unseen+"/1", nil), sim.WriteFile(unseen+"/2", nil)); err != nil {
		return "", err
	}
	look := fmt.Sprintf("#!/bin/sh\ntest -x %s && rm -f %s/$SLURM_ARRAY_TASK_ID\n", shellWord(d.copied), shellWord(unseen))
	id, err := call(ctx, look, append(append([]string{"sbatch", "--parsable"}, j.Args...), "--array=1-2", "--time=5", "--output=/dev/null"))
	if err == nil {
		id, _, _ = strings.Cut(id, ";") // the name of a cluster may follow
		id, err = call(ctx, text, []string{"sbatch", "--parsable", "--kill-on-invalid-dep=yes", "--dependency=afterok:" + id})
		id, _, _ = strings.Cut(id, ";")
	}
	return fmt.Sprintf("submitted %s, which starts when two tasks have found %s; there are its logs; paper cancel %[1]s cancels it", id, d.dir), err
}

// Cancel cancels a job by the name that Submit has told; args are further arguments for scancel
// or kubectl. What is finished is kept.
func Cancel(ctx context.Context, name string, args []string) error {
	command := []string{"kubectl", "delete", "job", name}
	if regexp.MustCompile(`^\d+(_\d+)?$`).MatchString(name) {
		command = []string{"scancel", name}
	}
	_, err := call(ctx, "", append(command, args...))
	return err
}

// roomy says what to do about a full disk.
func roomy(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: make room and submit again; what is finished is kept", err)
	}
	return err
}

func call(ctx context.Context, stdin string, command []string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &stderr
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("%w: submit from a machine of the cluster, or take there what -print prints", err)
	case err != nil:
		err = cmp.Or(ctx.Err(), fmt.Errorf("%s: %w %s", command[0], err, bytes.TrimSpace(stderr.Bytes())))
	}
	return strings.TrimSpace(string(out)), err
}
