//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is the time that processors have spent on this program, of all its
// threads together; false where the system does not tell.
func processorTime() (time.Duration, bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
