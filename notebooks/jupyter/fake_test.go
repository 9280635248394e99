package jupyter_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A fake front end is a script on PATH that starts this test again, as a server
// that behaves as Jupyter does in what the package relies on.
const fakeVersion = "JUPYTER_TEST_FAKE"

func TestMain(m *testing.M) {
	if version := os.Getenv(fakeVersion); version != "" {
		fakeJupyter(version, os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fake makes a front end in a folder and returns its path.
func fake(t *testing.T, folder, program, version string) string {
	t.Helper()
	return script(t, folder, program, fmt.Sprintf("%s='%s' exec '%s' \"$@\"", fakeVersion, version, executable(t)))
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func script(t *testing.T, folder, program, text string) string {
	t.Helper()
	path := filepath.Join(folder, program)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeJupyter is the program. It answers every request with what it was started
// with, but four: it ends at /stop, fails at /fail, no more ends when it is told
// to after /hang, and starts a kernel at /kernel.
func fakeJupyter(version string, args []string) {
	if slices.Contains(args, "--version") {
		fmt.Println(version)
		return
	}
	if version == "6.0.0" { // stands for one that does not get so far
		fmt.Fprintln(os.Stderr, "Traceback\nImportError: no traitlets")
		os.Exit(3)
	}
	if os.Geteuid() == 0 && !slices.Contains(args, "--allow-root") {
		fmt.Fprintln(os.Stderr, "Running as root is not recommended")
		os.Exit(1)
	}
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	port := 0
	for _, a := range args {
		if text, ok := strings.CutPrefix(a, "--port="); ok {
			fmt.Sscan(text, &port)
		}
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stop":
			terminate <- syscall.SIGTERM
			return
		case "/fail":
			os.Exit(7)
		case "/hang":
			signal.Ignore(syscall.SIGTERM)
			return
		case "/kernel":
			if err := startKernel(); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
			return
		}
		dir, _ := os.Getwd()
		json.NewEncoder(w).Encode(started{Args: args, Env: os.Environ(), Dir: dir, Asked: r.URL.String()})
	}))
	// In two parts, for a reader may come between them.
	file, err := os.Create(filepath.Join(os.Getenv("JUPYTER_RUNTIME_DIR"), fmt.Sprintf("jpserver-%d.json", os.Getpid())))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintf(file, `{"url": "http://%s/", `, l.Addr())
	time.Sleep(50 * time.Millisecond)
	token := os.Getenv("JUPYTER_TOKEN")
	if token == "none" { // stands for a configuration
		token = ""
	}
	fmt.Fprintf(file, `"token": %q, "password": %v}`, token, os.Getenv("FAKE_PASSWORD") != "")
	file.Close()
	<-terminate
}

// startKernel starts the Go kernel as Jupyter does, in a session of its own.
func startKernel() error {
	folder, _, _ := strings.Cut(os.Getenv("JUPYTER_PATH"), string(filepath.ListSeparator))
	data, err := os.ReadFile(filepath.Join(folder, "kernels", "gonb", "kernel.json"))
	if err != nil {
		return err
	}
	var spec struct {
		Argv []string
		Env  map[string]string
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		return err
	}
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Env = os.Environ()
	for name, value := range spec.Env {
		cmd.Env = append(cmd.Env, name+"="+os.Expand(value, func(name string) string {
			if name == "$" {
				return "$"
			}
			return os.Getenv(name)
		}))
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// started is what a fake was started with.
type started struct {
	Args, Env  []string
	Dir, Asked string
}

func (s started) setting(name string) string {
	for _, kv := range s.Env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
