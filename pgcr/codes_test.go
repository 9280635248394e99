package pgcr_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// tiles is a table of a hundred items with three features, which stand behind
// the code of the item chosen before.
type tiles struct{ name string }

func (t *tiles) Identity() string { return t.name }

func (t *tiles) Expand(dst []float32, state []int32, item int32) {
	dst[0] = float32(state[0]+1) / 100
	for i := range 3 {
		dst[i+1] = float32((int(item)*(7+i))%100) / 100
	}
}

// shop is a run whose contexts have codes: any of the hundred items are on
// offer, and the first feature of an item is its expected reward.
type shop struct {
	table    *tiles
	rng      *rand.Rand
	last     int32
	step     int
	contexts [2][]float32
	codes    [2]envs.Codes
}

func newShop(name string, seed uint64) *shop {
	s := &shop{table: &tiles{name}, rng: envs.NewRand(seed, "problem"), last: envs.NoItem}
	for i := range s.codes {
		s.contexts[i] = make([]float32, 3*4)
		s.codes[i] = envs.Codes{Items: make([]int32, 3), State: make([]int32, 1), Choices: true, Table: s.table}
	}
	s.offer()
	return s
}

func (s *shop) offer() {
	c := s.codes[s.step%2]
	c.State[0] = s.last
	for i := range c.Items {
		c.Items[i] = s.rng.Int32N(100)
		s.table.Expand(s.contexts[s.step%2][4*i:4*i+4], c.State, c.Items[i])
	}
}

func (s *shop) Observe() envs.Observation {
	return envs.Observation{Runs: 1, Candidates: 3, Dim: 4, Contexts: s.contexts[s.step%2], Session: []int32{0}, Codes: &s.codes[s.step%2]}
}

func (s *shop) Step(actions []int) (envs.Outcome, error) {
	reward := s.contexts[s.step%2][4*actions[0]+1]
	s.last = s.codes[s.step%2].Items[actions[0]]
	s.step++
	s.offer()
	return envs.Outcome{Reward: []float32{reward}, Discount: []float32{1}}, nil
}

// A reload keeps a history of codes, and refuses to go on with what does not
// continue it.
func TestSaveAndLoadCodes(t *testing.T) {
	spec := envs.Spec{Candidates: 3, Dim: 4, State: 1}
	policy, err := pgcr.Config{BatchSize: 8, Discount: 0.9}.New(spec, seeds(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	g := &game{t, newShop("tiles", 1), policy.(*pgcr.Agent), make([]int, 1)}
	g.choices(700) // more than a page
	var file bytes.Buffer
	if err := g.agent.Save(&file); err != nil {
		t.Fatal(err)
	}
	load := func() *pgcr.Agent {
		agent, err := pgcr.Load(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		return agent
	}
	want := (&game{t, newShop("tiles", 2), g.agent, make([]int, 1)}).choices(300)
	got := (&game{t, newShop("tiles", 2), load(), make([]int, 1)}).choices(300)
	if !slices.Equal(got, want) {
		t.Error("actions after a reload differ from those without")
	}

	other := newShop("others", 2)
	tr := envs.Transition{Observation: other.Observe(), Actions: []int{0}}
	if tr.Outcome, err = other.Step(tr.Actions); err != nil {
		t.Fatal(err)
	}
	agent := load()
	if err := agent.Update(tr); err == nil || !strings.Contains(err.Error(), "others") || !strings.Contains(err.Error(), "tiles") {
		t.Errorf("a step with codes of another table: %v", err)
	}
	tr.Codes = nil
	if err := agent.Update(tr); err == nil || !strings.Contains(err.Error(), "without codes") {
		t.Errorf("a step without codes in a history with them: %v", err)
	}
	plain := play(t, pgcr.Config{BatchSize: 8}, envs.Chain{Candidates: 3, States: 2}, seeds(1, 1))
	for range 3 {
		tr = plain.step()
	}
	tr.Codes = &envs.Codes{Items: []int32{1, 2, 3}, Table: other.table}
	if err := plain.agent.Update(tr); err == nil || !strings.Contains(err.Error(), "others") {
		t.Errorf("a step with codes in a history without: %v", err)
	}
}

// The codes of a step of the music experiment, three of the state and ten of
// the items, and what else a history keeps of it: B/step is the heap that it
// takes, of which 5 million steps and 5 runs must leave 4 GiB.
func BenchmarkReplayOfCodes(b *testing.B) {
	const users = 26_000
	rp := pgcr.NewReplay(envs.Spec{Candidates: 10, Dim: 379, State: 285}, 1, 0.9)
	codes := envs.Codes{Items: make([]int32, 10), State: make([]int32, 3), Table: &tiles{"tiles"}}
	tr := envs.Transition{
		Observation: envs.Observation{Runs: 1, Candidates: 10, Dim: 379, Session: []int32{0}, Codes: &codes},
		Actions:     []int{3}, Outcome: envs.Outcome{Reward: []float32{1}, Discount: []float32{1}},
	}
	if err := rp.Accept(tr); err != nil {
		b.Fatal(err)
	}
	rng, order := rand.New(rand.NewPCG(1, 1)), []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		tr.Session[0] = rng.Int32N(users)
		rp.Add(0, tr, order)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "B/step")
	runtime.KeepAlive(rp)
}
