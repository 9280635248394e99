package cli

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// waitForSignals makes the test's program wait for the first signal, and then
// for ever.
const waitForSignals = "TEST_WAIT_FOR_SIGNALS"

func TestMain(m *testing.M) {
	if os.Getenv(waitForSignals) != "" {
		ctx := UntilSignal(context.Background(), os.Stderr)
		fmt.Println("ready")
		<-ctx.Done()
		select {}
	}
	os.Exit(m.Run())
}
