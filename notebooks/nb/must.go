package nb

import (
	"fmt"
	"os"
)

// Must returns v, or fails the cell where err is not nil, as Check does. It
// wraps calls that return a value and an error:
//
//	env := nb.Must(envs.Linear{}.New(seeds))
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check fails the cell where err is not nil: it prints the error to stderr and
// ends the program with status 1. What was shown before is kept.
func Check(err error) {
	if err == nil {
		return
	}
	flush() // when that fails too, the first error is the one to tell
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
