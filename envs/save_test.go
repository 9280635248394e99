package envs_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

type declared struct{ Rate float64 }

func (declared) New(envs.Spec, []uint64) (envs.Policy, error) { return nil, nil }

// state has what policies keep: random streams, by value and by pointer, and numbers.
type state struct {
	Act     rand.PCG
	Streams []*rand.PCG
	Weights [][]float32
	Steps   int
}

func TestSavedStates(t *testing.T) {
	spec := envs.Spec{Candidates: 3, Dim: 2}
	kept := state{
		Act: *envs.NewSource(1, "act"), Streams: []*rand.PCG{envs.NewSource(2, "act"), envs.NewSource(3, "replay")},
		Weights: [][]float32{{1, 0}, nil}, Steps: 7,
	}
	kept.Streams[1].Uint64() // in the middle of its stream
	var file bytes.Buffer
	if err := envs.WriteState(&file, declared{0.5}, spec, 2, &kept); err != nil {
		t.Fatal(err)
	}
	var got state
	if err := envs.ReadState(bytes.NewReader(file.Bytes()), declared{0.5}, spec, 2, &got); err != nil {
		t.Fatal(err)
	}
	if got.Steps != 7 || len(got.Weights) != 2 || got.Weights[0][0] != 1 || len(got.Streams) != 2 {
		t.Errorf("read %+v, want %+v", got, kept)
	}
	for i := range 3 {
		if a, b := got.Act.Uint64(), kept.Act.Uint64(); a != b {
			t.Errorf("number %d of a stream is %d, want %d", i, a, b)
		}
		if a, b := got.Streams[1].Uint64(), kept.Streams[1].Uint64(); a != b {
			t.Errorf("number %d of a stream is %d, want %d", i, a, b)
		}
	}

	changed := func(at int) io.Reader {
		b := bytes.Clone(file.Bytes())
		b[(at+len(b))%len(b)] ^= 1
		return bytes.NewReader(b)
	}
	whole := func() io.Reader { return bytes.NewReader(file.Bytes()) }
	for _, test := range []struct {
		file io.Reader
		a    envs.Algorithm
		spec envs.Spec
		runs int
		want string
	}{
		{whole(), declared{0.25}, spec, 2, `envs_test.declared {"Rate":0.5} of 2 runs with 3 candidates, 2 features, 0 of state, want envs_test.declared {"Rate":0.25}`},
		{whole(), declared{0.5}, envs.Spec{Candidates: 4, Dim: 2}, 2, "want envs_test.declared"},
		{whole(), declared{0.5}, spec, 3, "of 3 runs"},
		{whole(), &declared{0.5}, spec, 2, "want *envs_test.declared"},
		{changed(0), declared{0.5}, spec, 2, "no saved policy"},
		{changed(30), declared{0.5}, spec, 2, "damaged"},
		{changed(-1), declared{0.5}, spec, 2, "damaged"},
		{io.LimitReader(whole(), 40), declared{0.5}, spec, 2, "damaged"},
		{strings.NewReader(""), declared{0.5}, spec, 2, "no saved policy"},
	} {
		var s state
		checkError(t, envs.ReadState(test.file, test.a, test.spec, test.runs, &s), test.want)
		if s.Steps != 0 {
			t.Errorf("%s: the state was read", test.want)
		}
	}
	r, w := io.Pipe()
	r.Close()
	checkError(t, envs.WriteState(w, declared{0.5}, spec, 2, &kept), "saving a policy: io: read/write on closed pipe")
	checkError(t, envs.WriteState(io.Discard, declared{0.5}, spec, 2, func() {}), "saving a policy: gob")
}
