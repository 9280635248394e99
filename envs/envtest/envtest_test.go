package envtest_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

// broken wants the promise that begins like that, and none before it, to be broken.
func broken(t *testing.T, fault string, checks []envtest.Check, promise string) {
	t.Helper()
	for _, c := range checks {
		switch hit := promise != "" && strings.HasPrefix(c.Promise, promise); {
		case hit && c.Err == nil:
			t.Errorf("%s: %s: kept", fault, c.Promise)
		case hit:
			return
		case c.Err != nil:
			t.Errorf("%s: %s: %v", fault, c.Promise, c.Err)
			return
		}
	}
	if promise != "" {
		t.Errorf("%s: no promise begins with %q", fault, promise)
	}
}

// softly learns a weight a feature and draws from the softmax of the scores.
type softly struct{ Fault string }

func (a softly) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if err := spec.Validate(seeds); err != nil && (a.Fault != "any spec" || len(seeds) == 0) {
		return nil, err
	}
	p := &learner{a: a, spec: spec}
	for _, seed := range seeds {
		if a.Fault == "a shared stream" {
			seed = seeds[0]
		}
		p.Streams = append(p.Streams, envs.NewSource(seed, "act"))
		p.Weights = append(p.Weights, make([]float64, max(spec.Dim, 0)))
	}
	return p, nil
}

type learner struct {
	a    softly
	spec envs.Spec
	kept []float32
	learned
}

type learned struct {
	Streams []*rand.PCG
	Weights [][]float64
}

func (p *learner) Probabilities(dst []float64, obs envs.Observation) error {
	if p.a.Fault != "no checks" {
		if err := obs.Check(p.spec, len(p.Streams)); err != nil && p.a.Fault != "NaN" {
			return err
		}
	}
	m := obs.Candidates
	for r, w := range p.Weights {
		set, total := dst[r*m:(r+1)*m], 0.0
		for k := range set {
			if set[k] = 0; k < obs.Size(r) || p.a.Fault == "padding" {
				score := 0.0
				for i, x := range obs.Context(r, k) {
					if x == x {
						score += w[i] * float64(x)
					}
				}
				set[k] = math.Exp(score)
				total += set[k]
			}
		}
		for k := range set {
			set[k] /= total
		}
		switch p.a.Fault {
		case "peeking":
			p.Streams[r].Uint64()
		case "beyond":
			set[m-1], set[0] = set[m-1]+0.1, set[0]-0.1
		}
	}
	return nil
}

func (p *learner) Act(dst []int, obs envs.Observation) error {
	probabilities := make([]float64, obs.Runs*obs.Candidates)
	if err := p.Probabilities(probabilities, obs); err != nil {
		return err
	}
	if len(dst) != obs.Runs {
		panic(fmt.Sprintf("envtest_test: %d actions, want %d", len(dst), obs.Runs))
	}
	for r := range dst {
		set := probabilities[r*obs.Candidates : (r+1)*obs.Candidates]
		u := rand.New(p.Streams[r]).Float64()
		for dst[r] = 0; u >= set[dst[r]] && dst[r] < obs.Size(r)-1; dst[r]++ {
			u -= set[dst[r]]
		}
		switch p.a.Fault {
		case "an action beyond":
			dst[r] = obs.Size(r)
		case "the first of equals":
			dst[r] = slices.Index(set, slices.Max(set))
		case "another law":
			if u < 0.02 {
				dst[r] = 0
			}
		case "sizes of one":
			if obs.Candidates == 1 {
				return errors.New("one candidate")
			}
		case "a changed observation":
			obs.Contexts[0]++
		}
	}
	return nil
}

func (p *learner) Update(tr envs.Transition) error {
	if p.a.Fault != "no checks" {
		if err := tr.Check(p.spec, len(p.Streams)); err != nil && p.a.Fault != "NaN" {
			return err
		}
	}
	if p.a.Fault == "kept contexts" {
		p.kept, tr.Contexts = tr.Contexts, append([]float32(nil), p.kept...)
		if len(tr.Contexts) == 0 {
			return nil
		}
	}
	for r, action := range tr.Actions {
		for i, x := range tr.Context(r, action) {
			p.Weights[r][i] += 0.3 * float64(tr.Reward[r]) * (float64(x) - 0.5)
		}
	}
	if p.a.Fault == "a changed reward" {
		tr.Reward[0]++
	}
	return nil
}

func (p *learner) Save(w io.Writer) error {
	state := p.learned
	if p.a.Fault == "streams are not saved" {
		state.Streams = nil
	}
	return envs.WriteState(w, p.a, p.spec, len(p.Weights), state)
}

func (p *learner) Load(r io.Reader) error {
	streams, state := p.Streams, learned{}
	err := envs.ReadState(r, p.a, p.spec, len(p.Weights), &state)
	if err == nil || p.a.Fault == "a failed load counts" {
		p.learned = state
	}
	if p.Streams == nil {
		p.Streams = streams
	}
	if p.a.Fault == "no error from Load" {
		return nil
	}
	return err
}

func TestFaultsOfAlgorithms(t *testing.T) {
	for fault, promise := range map[string]string{
		"":                      "",
		"an action beyond":      "actions are candidates",
		"a changed observation": "actions are candidates",
		"a changed reward":      "actions are candidates",
		"a shared stream":       "a run depends on its seed",
		"padding":               "neither what is beyond",
		"kept contexts":         "neither what is beyond",
		"sizes of one":          "one candidate",
		"the first of equals":   "the choice among equals",
		"peeking":               "probabilities",
		"beyond":                "probabilities",
		"another law":           "probabilities",
		"streams are not saved": "a policy that was saved",
		"no error from Load":    "a policy that was saved",
		"a failed load counts":  "a policy that was saved",
		"any spec":              "bad specs",
		"no checks":             "wrong shapes",
		"NaN":                   "NaN",
	} {
		broken(t, fault, envtest.CheckAlgorithm(softly{fault}, shop{}), promise)
	}
}
