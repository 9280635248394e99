package pgcr_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// visit is a step of one run with two candidates of one state and one item
// feature: candidate i of visit n has the item feature 10n+i.
func visit(n int, user int32, action int, reward, discount float32) envs.Transition {
	state := float32(1000 + n)
	return envs.Transition{
		Observation: envs.Observation{Runs: 1, Candidates: 2, Dim: 2, Session: []int32{user},
			Contexts: []float32{state, float32(10 * n), state, float32(10*n + 1)}},
		Actions: []int{action},
		Outcome: envs.Outcome{Reward: []float32{reward}, Discount: []float32{discount}},
	}
}

func TestReplayLinksSessions(t *testing.T) {
	// Users 7 and 8 in turn; visit 3 ends an episode of user 7.
	rp := pgcr.NewReplay(envs.Spec{Candidates: 2, Dim: 2, State: 1}, 1, 0.5)
	order := []int{1, 0}
	rp.Add(0, visit(0, 7, 0, 0.1, 1), order)
	if n := rp.Steps(0); n != 0 {
		t.Fatalf("%d steps can be drawn before any has a successor", n)
	}
	rp.Add(0, visit(1, 8, 1, 0.2, 1), order)
	rp.Add(0, visit(2, 7, 1, 0.3, 1), order) // completes 0
	rp.Add(0, visit(3, 7, 0, 0.4, 0), order) // completes 2 and itself
	rp.Add(0, visit(4, 7, 0, 0.5, 1), order)
	drawn := make([]int, 400)
	rp.Draw(drawn, 0, rand.New(rand.NewPCG(1, 1)))
	slices.Sort(drawn)
	if got := slices.Compact(drawn); !slices.Equal(got, []int{0, 2, 3}) {
		t.Errorf("steps %v are drawn, want 0, 2 and 3", got)
	}
	for _, c := range []struct {
		step     int
		discount float32
		next     []float32
	}{{0, 0.5, []float32{1002, 21}}, {2, 0.5, []float32{1003, 30}}, {3, 0, nil}} {
		if discount, next := rp.Next(0, c.step); discount != c.discount || !slices.Equal(next, c.next) {
			t.Errorf("after step %d: %v, %v, want %v, %v", c.step, discount, next, c.discount, c.next)
		}
	}
	if contexts, chosen := rp.Contexts(0, 2); !slices.Equal(contexts, []float32{1002, 21, 1002, 20}) || chosen != 0 {
		t.Errorf("step 2 holds %v, chosen %d", contexts, chosen)
	}
	if got := rp.Reward(0, 2); got != 0.3 {
		t.Errorf("the reward of step 2 is %v", got)
	}
}

func TestReplayRivals(t *testing.T) {
	rp := pgcr.NewReplay(envs.Spec{Candidates: 2, Dim: 2, State: 1}, 1, 0)
	for n, user := range []int32{7, 8, 7, 7} {
		rp.Add(0, visit(n, user, 0, 0, 1), []int{0, 1})
	}
	counts := map[float32]int{}
	rival, rng := make([]float32, 2), rand.New(rand.NewPCG(1, 2))
	const draws = 4000
	for range draws {
		rp.Rival(rival, 0, 2, rng)
		if rival[0] != 1002 {
			t.Fatalf("a rival at step 2 has the state %v of another step", rival[0])
		}
		counts[rival[1]]++
	}
	// The four contexts of the user's other visits, each a quarter of the draws;
	// 5 standard errors are 5*sqrt(4000*3/16) = 137.
	if len(counts) != 4 {
		t.Errorf("rivals of user 7 at step 2 are %v", counts)
	}
	for _, item := range []float32{0, 1, 30, 31} {
		if n := counts[item]; n < draws/4-137 || n > draws/4+137 {
			t.Errorf("item %v is drawn %d times of %d", item, n, draws)
		}
	}
	rp.Rival(rival, 0, 1, rng) // user 8 has one visit: its own contexts stand in
	if rival[0] != 1001 || rival[1] < 10 || rival[1] > 11 {
		t.Errorf("the rival of a single visit is %v", rival)
	}
}

func TestReplayGrows(t *testing.T) {
	// More steps than a page holds keep their contents.
	rp := pgcr.NewReplay(envs.Spec{Candidates: 2, Dim: 2}, 1, 0)
	const steps = 1300
	for n := range steps {
		tr := visit(n, 0, n%2, float32(n), 0)
		tr.Session = nil
		rp.Add(0, tr, []int{0, 1})
	}
	for n := range steps {
		if got := rp.Chosen(0, n); got[1] != float32(10*n+n%2) || rp.Reward(0, n) != float32(n) {
			t.Fatalf("step %d holds %v, reward %v", n, got, rp.Reward(0, n))
		}
	}
}
