package cellbuild

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// key identifies what recipes must have in common with a request.
func (r request) key(goProgram string) (string, error) {
	h := sha256.New()
	info, err := os.Stat(goProgram)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%q %d %d\n%q\n%q\n%q\n%q\n", goProgram, info.Size(), info.ModTime().UnixNano(), r.flags, r.goMod, r.goSum, r.goWork)
	for _, m := range r.localModules {
		fmt.Fprintf(h, "%q %q\n", m.path, m.folder)
		for _, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(m.folder, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			fmt.Fprintf(h, "%q\n", text)
		}
	}
	settings := os.Environ()
	slices.Sort(settings)
	for _, s := range settings {
		if matters(s) {
			fmt.Fprintf(h, "%q\n", s)
		}
	}
	for _, name := range cTools {
		path, _ := exec.LookPath(name)
		fmt.Fprintf(h, "%q\n", path)
	}
	// What go env -w writes, and what a distribution of Go has set.
	files := []string{os.Getenv("GOENV")}
	if config, err := os.UserConfigDir(); err == nil && files[0] == "" {
		files[0] = filepath.Join(config, "go", "env")
	}
	if program, err := filepath.EvalSymlinks(goProgram); err == nil {
		files = append(files, filepath.Join(filepath.Dir(filepath.Dir(program)), "go.env"))
	}
	for _, file := range files {
		text, _ := os.ReadFile(file)
		fmt.Fprintf(h, "%q\n", text)
	}
	return fmt.Sprintf("%.12x", h.Sum(nil)), nil
}

// matters tells whether go or a compiler may look at a setting of the environment
// for more than how to do its work, or how to download what is there already. GOWORK is
// no other than what go takes it for where it is not set.
func matters(setting string) bool {
	name, _, _ := strings.Cut(setting, "=")
	switch name {
	case "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CC", "CXX", "FC", "AR", "PKG_CONFIG", "PKG_CONFIG_PATH", "GCCGO":
		return true
	case "GOWORK", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOTMPDIR",
		"GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE", "GOAUTH", "GOVCS":
		return false
	}
	// Some of the kernel and of GoMLX begin as go's do.
	return strings.HasPrefix(name, "CGO_") || strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "GONB_") && !strings.HasPrefix(name, "GOMLX_")
}

// cTools are programs that go finds on PATH, for packages that are partly in C.
var cTools = []string{"gcc", "g++", "clang", "clang++", "gfortran", "pkg-config"}
