package kkbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// StateSongs is how many of the last songs recommended to a user are the state in MusicState (section 6.1).
const StateSongs = 3

const stateDim = StateSongs * (NumFields + 1)

// MusicStateless is the paper's music recommender without explicit states (section 6.1 and Fig.
// 2a). At every step a user comes, drawn uniformly from those with at least Candidates rows, and is
// offered Candidates distinct rows of the user's, drawn uniformly. The reward is the row's target:
// 1 if the user listened to the song again within a month, else 0.
//
// A context is the song's 94 fields (Encode). It is a bandit: a policy does not learn who the user
// is, and Session and Discount are nil. Users, songs and rewards do not depend on the actions, so
// algorithms are compared in pairs. Observations have Codes, which are rows of train.csv.
//
// On synthetic data environments implement envs.Oracle: the expected reward is the probability that
// the row's target was drawn with. A policy may earn more than by the best expected reward, since a row
// has the same target whenever it comes. On real data the law is unknown, and there is no Oracle.
type MusicStateless struct {
	Source     Source
	Candidates int // M; default 10
}

// MusicState is the paper's music recommender with states and transitions (section 6.1 and Fig.
// 2b): MusicStateless, and a context begins with the user's state, the last StateSongs songs that
// were recommended to the user, the latest first. Each is its 94 fields and the feedback, +1 if the
// user listened again and -1 if not; all 0 where there were fewer.
//
// The user is the Session, which never ends: its next step is the user's next
// visit, and Discount is 1. What is chosen changes later states and nothing else.
type MusicState MusicStateless

func (p MusicStateless) Spec() envs.Spec {
	return envs.Spec{Candidates: cmp.Or(p.Candidates, 10), Dim: NumFields}
}

// Spec has 379 features, of which 285 are the state.
func (p MusicState) Spec() envs.Spec {
	return envs.Spec{Candidates: cmp.Or(p.Candidates, 10), Dim: stateDim + NumFields, State: stateDim}
}

// MarshalJSON fails when the data cannot be read, see Source.
func (p MusicStateless) MarshalJSON() ([]byte, error) {
	type plain MusicStateless
	p.Candidates = p.Spec().Candidates
	return json.Marshal(plain(p))
}

func (p MusicState) MarshalJSON() ([]byte, error) { return MusicStateless(p).MarshalJSON() }

// New reads or makes the data, which takes seconds at the first call, see Source.Open.
func (p MusicStateless) New(seeds []uint64) (envs.Environment, error) {
	return newMusic(p.Source, p.Spec(), seeds)
}

func (p MusicState) New(seeds []uint64) (envs.Environment, error) {
	return newMusic(p.Source, p.Spec(), seeds)
}

func newMusic(source Source, spec envs.Spec, seeds []uint64) (envs.Environment, error) {
	runs := len(seeds)
	if err := spec.Validate(seeds); err != nil {
		return nil, fmt.Errorf("kkbox: a music problem with Candidates %d: %w", spec.Candidates, err)
	}
	o, err := source.open()
	if err != nil {
		return nil, err
	}
	m := &music{table: &songTable{opened: o}, reward: make([]float32, runs)}
	m.now = envs.Observation{Runs: runs, Candidates: spec.Candidates, Dim: spec.Dim}
	for user, rows := range o.rows {
		if len(rows) >= spec.Candidates {
			m.players = append(m.players, int32(user))
		}
	}
	if len(m.players) == 0 {
		return nil, fmt.Errorf("kkbox: Candidates is %d, and none of %d users has that many rows", spec.Candidates, len(o.rows))
	}
	for _, seed := range seeds {
		m.draws = append(m.draws, envs.NewRand(seed, "problem/contexts"))
	}
	if spec.State > 0 {
		m.table.songs = StateSongs
		m.discount = slices.Repeat([]float32{1}, runs)
		m.last = slices.Repeat([][StateSongs]int32{{-1, -1, -1}}, runs*len(o.rows))
	}
	m.offer()
	if o.data.Probability != nil {
		return knownMusic{m}, nil
	}
	return m, nil
}

type music struct {
	table   *songTable
	players []int32      // users who may come
	draws   []*rand.Rand // [R]; who comes and what is on offer

	// last is [R, users]: the rows that were chosen at the user's last visits, the
	// latest first, -1 where there were fewer; nil without states.
	last [][StateSongs]int32

	now              envs.Observation // with new slices at every step: its policy may still look at the one before
	reward, discount []float32        // [R]
}

func (m *music) Observe() envs.Observation { return m.now }

func (m *music) Step(actions []int) (envs.Outcome, error) {
	envs.CheckActions(actions, m.now)
	for r, action := range actions {
		row := m.now.Codes.Items[r*m.now.Candidates+action]
		m.reward[r] = float32(m.table.data.Target[row])
		if m.last != nil {
			last := &m.last[r*len(m.table.rows)+int(m.now.Session[r])]
			copy(last[1:], last[:])
			last[0] = row
		}
	}
	m.offer()
	return envs.Outcome{Reward: m.reward, Discount: m.discount}, nil
}

func (m *music) offer() {
	runs, candidates, songs := m.now.Runs, m.now.Candidates, m.table.songs
	m.now.Contexts = make([]float32, runs*candidates*m.now.Dim)
	m.now.Codes = &envs.Codes{Items: make([]int32, runs*candidates), State: make([]int32, runs*songs), Table: m.table}
	if m.last != nil {
		m.now.Session = make([]int32, runs)
	}
	for r, rng := range m.draws {
		user := m.players[rng.IntN(len(m.players))]
		rows := m.table.rows[user]
		items := m.now.Codes.Items[r*candidates:][:candidates]
		for i := range items {
			items[i] = rows[rng.IntN(len(rows))]
			for slices.Contains(items[:i], items[i]) {
				items[i] = rows[rng.IntN(len(rows))]
			}
		}
		state := m.now.Codes.State[r*songs:][:songs]
		if m.last != nil {
			m.now.Session[r] = user
			copy(state, m.last[r*len(m.table.rows)+int(user)][:])
		}
		for i, row := range items {
			m.table.Expand(m.now.Context(r, i), state, row)
		}
	}
}

type knownMusic struct{ *music }

func (m knownMusic) ExpectedRewards(dst []float64) {
	items := m.now.Codes.Items
	envs.CheckResults(len(dst), len(items))
	for i, row := range items {
		dst[i] = float64(m.table.data.Probability[row])
	}
}

// songTable is the envs.Table of the music problems: codes are rows of train.csv, counted from 0. A
// row stands for the song and for what the user made of it; in a state, -1 stands for no row.
type songTable struct {
	opened
	songs int // of a state
}

func (t *songTable) Identity() string {
	return fmt.Sprintf("kkbox %s, %d songs of state", t.identity, t.songs)
}

// Items returns the features of all songs, and which song each code stands for.
func (t *songTable) Items() (features []float32, songs []int32) { return t.fields, t.data.Song }

func (t *songTable) of(row int32) []float32 { return t.fields.Song(int(t.data.Song[row])) }

func (t *songTable) Expand(dst []float32, state []int32, item int32) {
	if want := t.songs*(NumFields+1) + NumFields; len(state) != t.songs || len(dst) != want {
		panic(fmt.Sprintf("kkbox: got %d state codes and %d places, want %d and %d", len(state), len(dst), t.songs, want))
	}
	for _, row := range state {
		if row == -1 {
			clear(dst[:NumFields+1])
		} else {
			copy(dst, t.of(row))
			dst[NumFields] = 2*float32(t.data.Target[row]) - 1
		}
		dst = dst[NumFields+1:]
	}
	copy(dst, t.of(item))
}
