package clone

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// sayAfter is how long something may take without a word. What is up to date is
// there in a second, and not worth a line.
const sayAfter = 2 * time.Second

// SayIfSlow writes a line about what go is at, unless done is called soon. When done
// returns, nothing is written any more.
func SayIfSlow(w io.Writer, line string) (done func()) { return say(w, sayAfter, line) }

func say(w io.Writer, patience time.Duration, line string) (done func()) {
	said := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(said)
		fmt.Fprintln(w, line)
	})
	return func() {
		if !timer.Stop() {
			<-said
		}
	}
}

// saying keeps what a go command says, and passes on which modules it downloads.
type saying struct {
	text     bytes.Buffer
	progress io.Writer
	passed   int // bytes of whole lines that were looked at
}

func (s *saying) Write(p []byte) (int, error) {
	s.text.Write(p)
	for {
		line, _, whole := bytes.Cut(s.text.Bytes()[s.passed:], []byte("\n"))
		if !whole {
			return len(p), nil
		}
		s.passed += len(line) + 1
		if bytes.HasPrefix(line, []byte("go: downloading ")) {
			fmt.Fprintf(s.progress, "%s\n", line)
		}
	}
}
