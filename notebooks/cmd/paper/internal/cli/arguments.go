package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Arguments makes what is wrong with positional arguments a usage error.
func Arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(err)
		}
		return nil
	}
}

// Takes wants least to most arguments, as many as there are where most is -1.
// What it says of others names what is wanted and a call that is right.
func Takes(least, most int, wanted, example string) cobra.PositionalArgs {
	return Arguments(func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		given := "nothing"
		if len(args) > 0 {
			given = strings.Join(args, " ")
		}
		return fmt.Errorf("%s wants %s, and was given %s. For example: %s", cmd.CommandPath(), wanted, given, example)
	})
}
