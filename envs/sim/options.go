package sim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Options say how results come about, never what they are.
type Options struct {
	Workers int // how many goroutines play; default: the CPUs that Go may use

	// Stack is how many runs a worker steps together and keeps as one part; default: an even share of
	// the runs a worker, at most 5.
	Stack int

	// Shard, 1 to Shards, is the share of the runs that this process plays, where the
	// first runs of all entries come before the second ones; default, both 0: all.
	Shard, Shards int

	// Player plays the runs, as PlayRuns does; default: PlayRuns.
	Player Player

	// Progress is called a few times a second and once at the end, by one
	// goroutine at a time. It may be nil. [PrintProgress] makes one.
	Progress func(Status)

	// Fresh plays all entries again, whatever is stored. It does not go with shards,
	// of which the second would forget what the first has played.
	Fresh bool

	Version string // for the header of the result files
	Backend string // likewise
}

func (o Options) validate() error {
	if o.Workers < 0 || o.Stack < 0 || o.Shards < 0 || o.Shard < min(o.Shards, 1) || o.Shard > o.Shards {
		return fmt.Errorf("sim: Options has Workers %d, Stack %d, Shard %d of Shards %d, want no negative number, and a Shard from 1 to Shards or 0 of 0",
			o.Workers, o.Stack, o.Shard, o.Shards)
	}
	if o.Fresh && o.Shards > 0 {
		return errors.New("sim: Options has Fresh with Shards: remove the results, then play the shards")
	}
	return nil
}

// Status is a snapshot of a running experiment. Run-steps are this process's steps times runs.
type Status struct {
	Experiment string
	Entry      string        // that advanced last; "" before any did
	Done       int64         // run-steps finished, those from the store included
	Total      int64         // run-steps in all; Done stays below when an entry fails
	Served     int64         // run-steps of Done that came from the store
	Regret     float64       // mean cumulated regret so far of the runs that advanced last; NaN without an Oracle
	Reward     float64       // their mean reward a step so far
	Stale      []string      // entries with stored results of other code, for which all are played again, or with parts that came later
	Warnings   []string      // of envs.Check, and that there are Stale ones; nil where nothing has to be played
	Took       time.Duration // since Run began
}

// Left is how long the rest takes at the pace so far, in whole seconds; 0: not known.
func (s Status) Left() time.Duration {
	if s.Done == s.Served {
		return 0
	}
	seconds := s.Took.Seconds() * float64(s.Total-s.Done) / float64(s.Done-s.Served)
	return time.Duration(min(seconds, 1e9)) * time.Second
}

// String says in a line how far the experiment is.
func (s Status) String() string {
	text := fmt.Sprintf("%3.0f %%", 100*float64(s.Done)/float64(s.Total))
	if played := float64(s.Done - s.Served); played > 0 {
		text += fmt.Sprintf("   %.0f run-steps/s   %v left", played/s.Took.Seconds(), s.Left())
	}
	switch {
	case s.Entry == "":
	case math.IsNaN(s.Regret):
		text += fmt.Sprintf("   %s   reward %.3g a step", s.Entry, s.Reward)
	default:
		text += fmt.Sprintf("   %s   regret %.1f", s.Entry, s.Regret)
	}
	return text
}

// PrintProgress returns a Progress that writes a line every 10 s, at the end, and for each warning.
func PrintProgress(w io.Writer) func(Status) {
	wrote, said, ended := time.Now(), 0, false
	return func(st Status) {
		for ; said < len(st.Warnings); said++ {
			fmt.Fprintf(w, "%s: %s\n", st.Experiment, st.Warnings[said])
		}
		switch {
		case ended:
		case st.Done == st.Total:
			ended = true
			fmt.Fprintf(w, "%s: done in %.1f s; %.0f %% was stored\n", st.Experiment, st.Took.Seconds(), 100*float64(st.Served)/float64(st.Total))
		case time.Since(wrote) >= 10*time.Second:
			wrote = time.Now()
			fmt.Fprintf(w, "%s: %v\n", st.Experiment, st)
		}
	}
}
