package envtest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/contextrec/contextrec/envs"
)

// coded is a problem whose environments tell codes of their contexts: numbers
// that are given to states and items as they come up.
type coded struct{ envs.Problem }

func (p coded) New(seeds []uint64) (envs.Environment, error) {
	env, err := p.Problem.New(seeds)
	if err != nil {
		return nil, err
	}
	return &codedEnvironment{Environment: env, table: &table{state: p.Spec().State}}, nil
}

type codedEnvironment struct {
	envs.Environment
	table *table
}

func (e *codedEnvironment) Observe() envs.Observation {
	obs := e.Environment.Observe()
	codes := &envs.Codes{Table: e.table, Items: make([]int32, 0, obs.Runs*obs.Candidates)}
	for context := range slices.Chunk(obs.Contexts, obs.Dim) {
		state, item := e.table.encode(context)
		if len(codes.Items)%obs.Candidates == 0 && e.table.state > 0 {
			codes.State = append(codes.State, state)
		}
		codes.Items = append(codes.Items, item)
	}
	obs.Codes = codes
	return obs
}

// table holds the first state features of contexts, and the others. It grows,
// but what a code means does not change.
type table struct {
	state  int
	mu     sync.Mutex
	states [][]float32
	items  [][]float32
}

func (t *table) encode(context []float32) (state, item int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states = append(t.states, slices.Clone(context[:t.state]))
	t.items = append(t.items, slices.Clone(context[t.state:]))
	return int32(len(t.states) - 1), int32(len(t.items) - 1)
}

// Expand implements envs.Table.
func (t *table) Expand(dst []float32, state []int32, item int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state > 0 {
		copy(dst, t.states[state[0]])
	}
	copy(dst[t.state:], t.items[item])
}

// Identity implements envs.Table.
func (t *table) Identity() string { return fmt.Sprintf("numbers of what has come up, %p", t) }
