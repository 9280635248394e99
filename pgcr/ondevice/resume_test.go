package ondevice_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// kept are matches that are interrupted, of 60 steps in pieces of 10.
var kept = map[string]struct {
	problem   envs.Problem
	algorithm envs.Algorithm
}{
	"toy":         {envs.Mixed{}, pgcr.Config{Dropout: 0.5, Greed: pgcr.Greed{Rate: 0.01}}},
	"music":       {kkbox.MusicState{Source: songs, Candidates: 4}, pgcr.Config{Hidden: []int{16, 12}, BatchSize: 24, UpdateEvery: 5, Discount: 0.9}},
	"one network": {kkbox.MusicStateless{Source: songs, Candidates: 4}, neural.EpsilonGreedy{Settings: neural.Settings{UpdateEvery: 10}}},
}

const keptRuns, keptSteps, keptPiece = 2, 60, 10

// session is a match that is played in a folder, once or with interruptions.
type session struct {
	t         *testing.T
	folder    string
	problem   envs.Problem
	algorithm envs.Algorithm
	steps     int
	player    ondevice.Player

	told      []string
	seen      []step
	estimates []float64
}

func newSession(t *testing.T, name, folder string) *session {
	s := &session{t: t, folder: folder, problem: kept[name].problem, algorithm: kept[name].algorithm, steps: keptSteps}
	s.player = ondevice.Player{Piece: keptPiece, Every: 1, Tell: func(line string) { s.told = append(s.told, line) }}
	return s
}

// play plays the match from its beginning, or from where it was, until it is over
// or a step has been recorded.
func (s *session) play(until int) error {
	s.told, s.seen = nil, nil
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	k := &keeping{Algorithm: s.algorithm}
	m := match(s.problem, k.Algorithm, keptRuns, s.steps)
	m.Folder = s.folder
	m.Algorithm = k
	m.Recorder = sim.RecorderFunc(func(n int, tr envs.Transition, regret []float64) {
		s.seen = append(s.seen, seenStep(tr, regret))
		if n == until {
			cancel()
		}
	})
	err := s.player.Play(ctx, m)
	if err == nil {
		s.estimates = estimatesOf(s.t, s.problem, k.policy, keptRuns)
	}
	return err
}

// finish plays the match to its end. What was kept of it stays.
func (s *session) finish() {
	s.t.Helper()
	if err := s.play(0); err != nil {
		s.t.Fatal(err)
	}
	if files := s.files(); len(files) > 1 {
		s.t.Errorf("the match is over and has left %v", files)
	}
}

// interrupt plays the match up to a step.
func (s *session) interrupt(step int) {
	s.t.Helper()
	if err := s.play(step); !errors.Is(err, context.Canceled) {
		s.t.Fatal(err)
	}
	if files := s.files(); len(files) != 1 {
		s.t.Fatalf("the interrupted match has left %v", files)
	}
}

func (s *session) files() []string {
	files, err := filepath.Glob(filepath.Join(s.folder, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return files
}

// same compares what was played with the match without an interruption, to the
// last bit.
func (s *session) same(want *session) {
	s.t.Helper()
	compare(s.t, s.seen, want.seen)
	if !reflect.DeepEqual(s.estimates, want.estimates) {
		s.t.Errorf("estimates are %v, want %v", s.estimates, want.estimates)
	}
}

// said compares what the player told with the beginnings of lines.
func (s *session) said(lines ...string) {
	s.t.Helper()
	ok := len(s.told) == len(lines)
	for i := range s.told {
		ok = ok && strings.Contains(s.told[i], lines[i])
	}
	if !ok {
		s.t.Errorf("told %q, want %q", s.told, lines)
	}
}

const childOf = "ONDEVICE_TEST_KILLED" // names the match and the folder of a child process

// child plays a match until it is killed, in a step that comes after some
// checkpoints.
func child(arguments string) {
	name, folder, _ := strings.Cut(arguments, ":")
	m := match(kept[name].problem, &keeping{Algorithm: kept[name].algorithm}, keptRuns, keptSteps)
	m.Folder = folder
	m.Recorder = sim.RecorderFunc(func(n int, _ envs.Transition, _ []float64) {
		if n == 35 {
			fmt.Println("kill me")
			select {}
		}
	})
	err := ondevice.Player{Piece: keptPiece, Every: 1}.Play(context.Background(), m)
	fmt.Println("ended", err)
}

// A match whose process was killed goes on in the next one, and ends as one that
// was not.
func TestKilled(t *testing.T) {
	for name := range kept {
		t.Run(name, func(t *testing.T) {
			whole := newSession(t, name, t.TempDir())
			whole.finish()
			whole.said()

			s := newSession(t, name, t.TempDir())
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childOf+"="+name+":"+s.folder)
			cmd.Stderr = os.Stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(stdout).ReadString('\n')
			cmd.Process.Kill()
			cmd.Wait()
			if line != "kill me\n" {
				t.Fatalf("the child said %q", line)
			}
			s.finish()
			s.same(whole)
			s.said("going on after step 30 of 60, from " + s.folder)
		})
	}
}

// A match that is interrupted again and again ends as one that was not.
func TestInterrupted(t *testing.T) {
	whole := newSession(t, "music", t.TempDir())
	whole.finish()
	s := newSession(t, "music", t.TempDir())
	s.player.Every = 0 // a minute: what is kept is kept at the interrupt
	s.interrupt(12)
	s.said()
	s.interrupt(13) // while what was played before is being shown again
	s.said("going on after step 20 of 60")
	s.interrupt(41)
	s.said("going on after step 20 of 60")
	s.finish()
	s.said("going on after step 50 of 60")
	s.same(whole)
}

// A match whose process was killed when it was over, but before anybody had kept
// what came of it, goes on from what was kept last.
func TestKilledAfterTheEnd(t *testing.T) {
	s := newSession(t, "music", t.TempDir())
	s.finish()
	whole := *s
	s.finish()
	s.same(&whole)
	s.said("going on after step 50 of 60")
}

// rewrite changes what was kept, in a file that is as it ought to be otherwise.
func rewrite(change func(c *ondevice.Checkpoint)) func(string, []byte) error {
	return func(path string, _ []byte) error {
		c, err := ondevice.ReadCheckpoint(path)
		if err != nil {
			return err
		}
		change(c)
		return ondevice.WriteCheckpoint(c, path)
	}
}

// What is damaged is not used, and what is in the way is told.
func TestDamagedCheckpoint(t *testing.T) {
	whole := newSession(t, "toy", t.TempDir())
	whole.finish()
	for name, c := range map[string]struct {
		damage func(path string, text []byte) error
		told   string
	}{
		"torn":     {func(path string, text []byte) error { return os.WriteFile(path, text[:len(text)*2/3], 0o666) }, "it is damaged"},
		"empty":    {func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o666) }, "it is no checkpoint"},
		"header":   {func(path string, text []byte) error { return os.WriteFile(path, text[:40], 0o666) }, "it is damaged"},
		"one bit":  {func(path string, text []byte) error { text[len(text)/2] ^= 4; return os.WriteFile(path, text, 0o666) }, "it is damaged"},
		"other":    {func(path string, _ []byte) error { return os.WriteFile(path, []byte("# a result"), 0o666) }, "it is no checkpoint"},
		"no file":  {func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Symlink(os.DevNull, path)) }, "it is no file"},
		"slot":     {rewrite(func(c *ondevice.Checkpoint) { c.Slots[3] = 250 }), "choice 3 is slot 250 of 5"},
		"choices":  {rewrite(func(c *ondevice.Checkpoint) { c.Slots = c.Slots[1:] }), "it is of 30 steps, 59 choices and 2 networks"},
		"networks": {rewrite(func(c *ondevice.Checkpoint) { c.Networks = c.Networks[1:] }), "it is of 30 steps, 60 choices and 1 networks"},
		"network":  {rewrite(func(c *ondevice.Checkpoint) { c.Networks[1] = c.Networks[0] }), "network 1: 6 parameters and moments, want 9"},
		"moment":   {rewrite(func(c *ondevice.Checkpoint) { c.Networks[0][5] = c.Networks[0][5][1:] }), "network 0: parameter or moment 5 has"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, "toy", t.TempDir())
			s.interrupt(25)
			path := s.files()[0]
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.damage(path, text); err != nil {
				t.Fatal(err)
			}
			s.finish()
			s.same(whole)
			s.said("beginning anew: " + path + " is not used: " + c.told)
		})
	}
}

// What was kept of another match is not used.
func TestForeignCheckpoint(t *testing.T) {
	for name, change := range map[string]func(s *session){
		"Algorithm": func(s *session) { s.algorithm = pgcr.Config{Dropout: 0.4, Greed: pgcr.Greed{Rate: 0.01}} },
		"Problem":   func(s *session) { s.problem = envs.Mixed{Dim: 12} },
		"Steps":     func(s *session) { s.steps++ },
		"Piece":     func(s *session) { s.player.Piece = 20 },
		"Backend":   func(s *session) { s.player.Backend = "another" },
		"Program":   func(s *session) { s.t.Cleanup(ondevice.SetProgramSum("another", nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, "toy", t.TempDir())
			s.interrupt(25)
			change(s)
			s.finish()
			s.said("it is of another " + name)
			whole := newSession(t, "toy", t.TempDir())
			change(whole)
			whole.finish()
			s.same(whole)
		})
	}
}

// A folder that cannot be written is told once, and the match goes on. Without
// one, and where it is not wanted, nothing is kept.
func TestNotKept(t *testing.T) {
	s := newSession(t, "toy", filepath.Join(t.TempDir(), "none"))
	s.finish()
	s.said("a match under way cannot be kept: ")
	never := newSession(t, "toy", t.TempDir())
	never.player.Every = -1
	if err := never.play(25); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	never.finish()
	never.said()
	never.same(s)
	if files := never.files(); len(files) > 0 {
		t.Errorf("kept %v", files)
	}

	defer ondevice.SetProgramSum("", errors.New("no program"))()
	unknown := newSession(t, "toy", t.TempDir())
	unknown.finish()
	unknown.said("a match under way cannot be kept: saying what it is: no program")
	unknown.same(s)
	if files := unknown.files(); len(files) > 0 {
		t.Errorf("kept %v", files)
	}
}

// Two that play the same match at the same time end as one does.
func TestTwice(t *testing.T) {
	whole := newSession(t, "toy", t.TempDir())
	whole.finish()
	folder := t.TempDir()
	var sessions [4]*session
	var errs [4]error
	var wg sync.WaitGroup
	for i := range sessions {
		sessions[i] = newSession(t, "toy", folder)
		wg.Go(func() { errs[i] = sessions[i].play(0) })
	}
	wg.Wait()
	for i, s := range sessions {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		s.same(whole)
		for _, line := range s.told { // it may have begun when another had kept something
			if !strings.HasPrefix(line, "going on after step ") {
				t.Error(line)
			}
		}
	}
	if files := sessions[0].files(); len(files) != 1 {
		t.Errorf("the matches are over and have left %v", files)
	}
}
