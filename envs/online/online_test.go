package online_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	_ "github.com/gomlx/compute/gobackend"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/online"
	"github.com/contextrec/contextrec/pgcr"
)

var spec = envs.Spec{Candidates: 5, Dim: 2}

func start(t *testing.T, a envs.Algorithm, pending int) *online.Policy {
	t.Helper()
	p, err := online.New(a, spec, 1, pending)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func offer(rng *rand.Rand) [][]float32 {
	candidates := make([][]float32, 2+rng.IntN(4))
	for i := range candidates {
		candidates[i] = []float32{rng.Float32(), rng.Float32()}
	}
	return candidates
}

// Every algorithm learns from rewards that come late, in any order, and for two of
// three decisions only. A policy that was saved meanwhile goes on as the other one.
func TestAlgorithms(t *testing.T) {
	type owed struct {
		id     string
		reward float32
	}
	for _, a := range []envs.Algorithm{
		baselines.LinUCB{}, baselines.GLMUCB{}, baselines.LinearThompson{Scale: 0.1}, baselines.LogisticThompson{},
		neural.Greedy{}, neural.EpsilonGreedy{}, neural.VanillaPG{}, pgcr.Config{}, pgcr.Config{Dropout: 0.2},
	} {
		p, loaded, rng := start(t, a, 500), start(t, a, 500), rand.New(rand.NewPCG(1, 1))
		var debts []owed
		mean := 0.0
		for step := range 500 {
			candidates := offer(rng)
			d, err := p.Decide(candidates)
			if err != nil {
				t.Fatal(err)
			}
			if !(d.Probability > 0 && d.Probability < 1+1e-6) {
				t.Fatalf("%T, step %d: candidate %d was chosen with probability %v", a, step, d.Index, d.Probability)
			}
			if step > 400 {
				e, err := loaded.Decide(candidates)
				if err != nil || e.Index != d.Index || e.Probability != d.Probability || e.ID == d.ID {
					t.Fatalf("%T, step %d: %+v, and after loading %+v, %v", a, step, d, e, err)
				}
			}
			reward := candidates[d.Index][0]
			if step >= 250 {
				mean += float64(reward) / 250
			}
			if step%3 > 0 && step < 400 {
				debts = append(debts, owed{d.ID, reward})
			}
			if step == 400 {
				var file bytes.Buffer
				if err := p.Save(&file); err != nil {
					t.Fatal(err)
				}
				if err := loaded.Load(&file); err != nil {
					t.Fatal(err)
				}
			}
			if len(debts) > 10 || step >= 400 && len(debts) > 0 {
				i := rng.IntN(len(debts))
				o := debts[i]
				debts = append(debts[:i], debts[i+1:]...)
				err := p.Reward(o.id, o.reward)
				if err == nil && step >= 400 {
					err = loaded.Reward(o.id, o.reward)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if mean < 0.65 {
			t.Errorf("%T: %.3f a step, where a random policy has 0.5", a, mean)
		}
	}
}

func TestErrors(t *testing.T) {
	p, nan := start(t, baselines.LinUCB{}, 2), float32(math.NaN())
	for want, candidates := range map[string][][]float32{
		"0 candidates, want 1 to 5":          nil,
		"6 candidates, want 1 to 5":          make([][]float32, 6),
		"candidate 1 has 3 features, want 2": {{1, 2}, {1, 2, 3}},
		"feature 1 of candidate 0 is NaN":    {{1, nan}},
	} {
		if _, err := p.Decide(candidates); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	var ids []string
	for range 3 {
		d, err := p.Decide([][]float32{{1, 2}, {3, 4}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	for _, c := range []struct {
		id     string
		reward float32
		want   string
	}{
		{ids[0], 1, "no decision"}, // two were made since
		{ids[1], nan, "the reward is NaN"},
		{ids[1], 1, ""},
		{ids[1], 1, "no decision"}, // it has had its reward
		{"", 1, "no decision"},
		{ids[2], 1, ""},
	} {
		if err := p.Reward(c.id, c.reward); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Reward(%q, %v): %v, want %q", c.id, c.reward, err, c.want)
		}
	}
	if _, err := online.New(baselines.LinUCB{}, spec, 1, 0); err == nil {
		t.Error("no error for a bound of 0")
	}
	if err := p.Load(strings.NewReader("something else")); err == nil {
		t.Error("no error for a file of something else")
	}
}

// Goroutines decide, reward and save at once, for the race detector to look on. None is so late
// that its decision is forgotten: the bound is that of all.
func TestConcurrency(t *testing.T) {
	p := start(t, baselines.LinUCB{}, 8*20)
	var group sync.WaitGroup
	for seed := range uint64(8) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			for range 20 {
				d, err := p.Decide(offer(rng))
				if err == nil {
					err = p.Reward(d.ID, 1)
				}
				if err == nil {
					err = p.Save(&bytes.Buffer{})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}
