package jupyter

import "time"

// SetStopGrace sets what a server has to end in and returns what it was.
func SetStopGrace(d time.Duration) time.Duration {
	was := stopGrace
	stopGrace = d
	return was
}
