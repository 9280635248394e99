package cellbuild

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// command is one that go runs: a program with its arguments, and settings of its
// environment.
type command struct {
	Env  []string `json:"env,omitempty"`
	Args []string `json:"args"`
}

// readTrace finds in what "go build -x -work" prints the folder that it worked in and
// the commands that made the cell. That folder is called $WORK in them, and that of the
// cell, which they are run in, is not named.
func readTrace(trace, folder string) (work string, compile, link command, err error) {
	first, rest, _ := strings.Cut(trace, "\n")
	work, ok := strings.CutPrefix(first, "WORK=")
	if !ok {
		return "", compile, link, errGo
	}
	for line := range strings.Lines(rest) {
		if !strings.Contains(line, "$WORK/b001/") {
			continue
		}
		c, err := readCommand(strings.TrimSuffix(line, "\n"))
		if err != nil || len(c.Args) == 0 {
			continue // cat and its like are for a shell
		}
		switch filepath.Base(c.Args[0]) {
		case "compile":
			compile = c
		case "link":
			link = c
		}
	}
	// go shows it as it is where it has blanks.
	for _, c := range []command{compile, link} {
		for i, a := range c.Args {
			if a == filepath.Join(folder, "main.go") {
				c.Args[i] = cellFile
			} else if strings.Contains(a, folder) {
				return "", compile, link, errGo
			}
		}
	}
	if !slices.Contains(compile.Args, cellFile) || !compile.has("-o", archive) || !compile.has("-importcfg", importCfg) || !link.has("-o", linked) || !link.has("-importcfg", linkCfg) || !slices.Contains(link.Args, archive) {
		return "", compile, link, errGo
	}
	return work, compile, link, nil
}

// The files of the main package.
const (
	cellFile  = "./main.go"
	archive   = "$WORK/b001/_pkg_.a"
	importCfg = "$WORK/b001/importcfg"
	linkCfg   = "$WORK/b001/importcfg.link"
	linked    = "$WORK/b001/exe/a.out"
)

// has tells whether a command has a flag with this value.
func (c command) has(flag, value string) bool {
	i := slices.Index(c.Args, flag)
	return i >= 0 && i+1 < len(c.Args) && c.Args[i+1] == value
}

// setting is how go shows a setting of a command's environment.
var setting = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*=)(?:'([^']*)'|("(?:[^"\\]|\\.)*"))(?: |$)`)

// readCommand reads a line that shows a command: settings, then words that are
// separated by one blank each, and are quoted as in Go where they need to be.
func readCommand(line string) (c command, err error) {
	for {
		m := setting.FindStringSubmatch(line)
		if m == nil {
			break
		}
		value := m[2]
		if m[3] != "" {
			if value, err = strconv.Unquote(m[3]); err != nil {
				return c, err
			}
		}
		c.Env = append(c.Env, m[1]+value)
		line = line[len(m[0]):]
	}
	for line != "" {
		word := line
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return c, err
			}
			if word, err = strconv.Unquote(quoted); err != nil {
				return c, err
			}
			line = line[len(quoted):]
		} else {
			word, _, _ = strings.Cut(line, " ")
			line = line[len(word):]
		}
		c.Args = append(c.Args, word)
		if line != "" && line[0] != ' ' {
			return c, errGo
		}
		line = strings.TrimPrefix(line, " ")
	}
	return c, nil
}

// replace is the command with other words in the place of some.
func (c command) replace(words *strings.Replacer) command {
	done := command{Env: c.Env, Args: make([]string, len(c.Args))}
	for i, a := range c.Args {
		done.Args[i] = words.Replace(a)
	}
	return done
}
