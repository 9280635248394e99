package logged

import (
	"fmt"
	"slices"
	"strings"
)

// Format names the columns of a file. The zero value is that of the package
// comment.
type Format struct {
	Decision   string // default "decision": what the rows of a decision have in common
	User       string // default "user", which may be missing
	Chosen     string // default "chosen": 1 for the chosen candidate, else 0
	Reward     string // default "reward"
	Propensity string // default "propensity", which may be missing

	// Features are the columns with features; default: all others.
	Features []string

	// Uniform says that every candidate was equally probable, where there is no
	// column that says so.
	Uniform bool

	Comma rune // default ','
}

// ownColumns are the usual names of the columns that hold no features.
var ownColumns = []string{"decision", "user", "chosen", "reward", "propensity"}

// columns are the places of a file's columns; -1 where there is none.
type columns struct {
	decision, user, chosen, reward, propensity int
	features                                   []int
	names                                      []string
}

// find finds the columns in a header. Its errors name the column.
func (f Format) find(header []string) (columns, error) {
	c := columns{names: header}
	for i, name := range header {
		if err := checkName(name); err != nil {
			return c, atColumn(fmt.Sprint(i+1), "the column %w", err)
		}
		if slices.Contains(header[:i], name) {
			return c, atColumn(name, "two columns of this name")
		}
	}
	taken := make([]bool, len(header))
	place := func(name, usual string, optional bool) (int, error) {
		given := name != ""
		if !given {
			name = usual
		}
		i := slices.Index(header, name)
		switch {
		case i < 0 && optional && !given:
		case i < 0:
			return -1, atColumn(name, "there is no such column, there are: %s", strings.Join(header, ", "))
		case taken[i]:
			return -1, atColumn(name, "it is named for two purposes")
		default:
			taken[i] = true
		}
		return i, nil
	}
	for _, wanted := range []struct {
		at          *int
		name, usual string
		optional    bool
	}{
		{&c.decision, f.Decision, "decision", false},
		{&c.user, f.User, "user", true},
		{&c.chosen, f.Chosen, "chosen", false},
		{&c.reward, f.Reward, "reward", false},
		{&c.propensity, f.Propensity, "propensity", true},
	} {
		var err error
		if *wanted.at, err = place(wanted.name, wanted.usual, wanted.optional); err != nil {
			return c, err
		}
	}
	if c.propensity >= 0 && f.Uniform {
		return c, atColumn(header[c.propensity], "the format says that the choices were uniform, and there is a column that says how probable they were")
	}
	for _, name := range f.Features {
		i, err := place(name, "", false)
		if err != nil {
			return c, err
		}
		c.features = append(c.features, i)
	}
	if f.Features == nil {
		for i := range header {
			if !taken[i] {
				c.features = append(c.features, i)
			}
		}
	}
	if len(c.features) == 0 {
		return c, &FileError{Err: fmt.Errorf("no column has features")}
	}
	return c, nil
}

// A FileError is an error in the content of a file.
type FileError struct {
	File   string
	Line   int    // the header is line 1; 0 where it is the file as a whole
	Column string // "" where it is the row as a whole
	Err    error
}

func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString("logged: ")
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ": line %d", e.Line)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ": column %q", e.Column)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

func (e *FileError) Unwrap() error { return e.Err }

func atColumn(column, format string, args ...any) error {
	return &FileError{Column: column, Err: fmt.Errorf(format, args...)}
}
