package kubernetes

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var onServer = flag.Bool("server", false, "submit to the API server of .ci/kubernetes, which has no nodes")

// pod is as much of a pod as is run here.
type pod struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		Containers []struct {
			Command []string
			Env     []struct{ Name, Value string }
		}
	}
}

func run(t *testing.T, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = "../../.."
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, text)
	}
	return string(text)
}

// play does the work of a node: it runs the pod's command here, with the folder out as
// /results, and reports how it has ended; or that it has failed with a code other than 0.
func (p pod) play(t *testing.T, paper, out string, code int) {
	container, index := p.Spec.Containers[0], p.Metadata.Annotations["batch.kubernetes.io/job-completion-index"]
	phase := "Succeeded"
	cmd := exec.Command(paper, container.Command[1:]...)
	cmd.Env = append(os.Environ(), "JOB_COMPLETION_INDEX="+index)
	for i, arg := range cmd.Args {
		cmd.Args[i] = strings.ReplaceAll(arg, "/results", out)
	}
	for _, v := range container.Env {
		if v.Name != "JOB_COMPLETION_INDEX" { // which comes from the annotation
			cmd.Env = append(cmd.Env, v.Name+"="+strings.ReplaceAll(v.Value, "/results", out))
		}
	}
	if code != 0 {
		phase = "Failed"
	} else if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("index %s: %v\n%s", index, err, text)
		phase, code = "Failed", 1
	}
	now := time.Now().UTC().Format(time.RFC3339)
	status := fmt.Sprintf(`{"status": {"phase": %q, "containerStatuses": [{"name": "task", "image": "i", "imageID": "i", "ready": false, "restartCount": 0,
		"state": {"terminated": {"exitCode": %d, "startedAt": %q, "finishedAt": %[3]q}}}]}}`, phase, code, now)
	run(t, "kubectl", "patch", "pod", p.Metadata.Name, "--subresource=status", "--type=merge", "-p", status)
}

// submitted submits a study and plays its pods, where code says how a pod of an index fails
// at the n-th time, until the job has ended. It returns the job, its condition and reason, and
// how many pods there were.
func submitted(t *testing.T, paper, out string, code func(index string, n int) int, study ...string) (name, condition string, pods int) {
	said := run(t, append([]string{paper, "submit", "-to", "kubernetes", "-tasks", "6", "-image", "i", "-claim", "c", "-queue", "q", "-out", out}, study...)...)
	_, name, _ = strings.Cut(said, "submitted ")
	name, _, _ = strings.Cut(name, ";")
	var tasks sync.WaitGroup
	known, times := map[string]bool{}, map[string]int{}
	for began := time.Now(); condition == ""; {
		if time.Since(began) > 5*time.Minute {
			t.Fatal("the job has not ended after 5 minutes:\n" + run(t, "kubectl", "describe", "job", name))
		}
		var list struct{ Items []pod }
		if err := json.Unmarshal([]byte(run(t, "kubectl", "get", "pods", "-l", "job-name="+name, "-o", "json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Items {
			if index := p.Metadata.Annotations["batch.kubernetes.io/job-completion-index"]; !known[p.Metadata.Name] {
				known[p.Metadata.Name] = true
				times[index]++
				fails := code(index, times[index])
				tasks.Go(func() { p.play(t, paper, out, fails) })
			}
		}
		condition = run(t, "kubectl", "get", "job", name, "-o", `jsonpath={range .status.conditions[?(@.status=="True")]}{.type} {.reason};{end}`)
		if !strings.Contains(condition, "Complete ") && !strings.Contains(condition, "Failed ") {
			condition = "" // it is about to have one
		}
	}
	tasks.Wait()
	return name, condition, len(known)
}

// A job on a real API server, with its Job controller, has the results of one process.
func TestServer(t *testing.T) {
	if !*onServer {
		t.Skip("there is no API server: .ci/kubernetes builds one in 20 minutes")
	}
	dir := t.TempDir()
	paper, alone, out := filepath.Join(dir, "paper"), filepath.Join(dir, "alone"), filepath.Join(dir, "out")
	run(t, "go", "build", "-o", paper, "./notebooks/cmd/paper")
	study := strings.Fields("toy-linear -scale 0.005 -runs 10")
	run(t, append([]string{paper, "run", "-out", alone}, study...)...)
	once := func(index string, n int) int {
		if index == "3" && n == 1 {
			return 7
		}
		return 0
	}
	name, condition, pods := submitted(t, paper, out, once, study...)
	if indexes := run(t, "kubectl", "get", "job", name, "-o", "jsonpath={.status.completedIndexes}"); !strings.Contains(condition, "Complete ") || indexes != "0-5" || pods != 7 {
		t.Errorf("the job is %s with indexes %s after %d pods, want Complete, 0-5, 7", condition, indexes, pods)
	}
	files, err := filepath.Glob(filepath.Join(alone, "results", "toy-linear", "*.csv"))
	for _, file := range files {
		want, err1 := os.ReadFile(file)
		have, err2 := os.ReadFile(filepath.Join(out, "results", "toy-linear", filepath.Base(file)))
		if err = errors.Join(err, err1, err2); string(want) != string(have) {
			t.Errorf("%s is another file", filepath.Base(file))
		}
	}
	if err != nil || len(files) != 8 {
		t.Errorf("%d results, %v", len(files), err)
	}
	run(t, paper, "cancel", name)
	// A program that the image does not have ends the job at once.
	name, condition, pods = submitted(t, paper, filepath.Join(dir, "none"), func(string, int) int { return 128 }, study...)
	if !strings.Contains(condition, "Failed PodFailurePolicy") || pods > 6 {
		t.Errorf("without the program the job is %s after %d pods", condition, pods)
	}
	run(t, paper, "cancel", name)
}
