package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal ends its context at the first interrupt, and says so on stderr. The
// second one stops the program at once.
func UntilSignal(ctx context.Context, stderr io.Writer) context.Context {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // gives the signals their usual effect back; saying so may take for ever
		fmt.Fprintln(stderr, "\nstopping; once more to stop at once")
	})
	return ctx
}
