package cli

import (
	"io"
	"sync"
)

// LockedWriter keeps apart the lines of those that write at the same time.
type LockedWriter struct {
	mu sync.Mutex
	W  io.Writer
}

func (l *LockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.W.Write(p)
}
