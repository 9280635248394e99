package cli

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
)

// Of a kind of flag that has no words of its own, the library's are told.
func TestFlagErrorOfOtherKind(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.Flags().IP("address", nil, "")
	err := cmd.ParseFlags([]string{"--address", "here"})
	if err == nil {
		t.Fatal("no error of a wrong address")
	}
	if got := flagError(cmd, err); got.Error() != err.Error() || !errors.As(got, new(UsageError)) {
		t.Errorf("the error is %v, want %v", got, err)
	}
}
