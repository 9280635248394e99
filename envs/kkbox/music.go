package kkbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// StateSongs is how many of the last songs recommended to a user are the state
// in MusicState (section 6.1).
const StateSongs = 3

// MusicStateless is the paper's music recommender without explicit states
// (section 6.1 and Fig. 2a). At every step a user comes, drawn uniformly from
// those with at least Candidates rows, and is offered Candidates distinct songs
// of the own rows, drawn uniformly. The reward is the row's target: 1 if the
// user listened to the song again within a month, else 0.
//
// A context is the song's 94 fields. It is a bandit: nobody is told who the user
// is, and there is no Session.
//
// Users, songs and rewards do not depend on the actions, so contenders are
// compared in pairs, and environments implement envs.PotentialOutcomes. Their
// Codes are rows of train.csv.
//
// On the synthetic twin environments implement envs.Oracle: the expected reward
// is the probability that the row's target was drawn with. Regret is then what
// a policy falls behind one that knows the law of the targets, though not the
// targets. It is never negative, yet a policy may earn more than that one: a
// row has the same target whenever it comes, so who has met the row may know
// its luck. On real data the law is unknown, and there is no Oracle.
//
// The zero value is the paper's setting on the synthetic twin.
type MusicStateless struct {
	Source     Source
	Fields     Variant
	Candidates int // M; default 10
}

// MusicState is the paper's music recommender with states and transitions
// (section 6.1 and Fig. 2b): MusicStateless, and a context begins with the
// user's state, the last StateSongs songs that were recommended to the user,
// the latest first. Each is its 94 fields and the feedback, +1 if the user
// listened again and -1 if not; all 0 where there were fewer.
//
// The user is the Session, which never ends: its next step is the user's next
// visit, and Discount is 1. What is chosen changes later states and nothing else.
//
// The zero value is the paper's setting on the synthetic twin.
type MusicState struct {
	Source     Source
	Fields     Variant
	Candidates int // M; default 10
}

func (p MusicStateless) withDefaults() MusicStateless {
	p.Source = p.Source.withDefaults()
	p.Candidates = cmp.Or(p.Candidates, 10)
	return p
}

func (p MusicState) withDefaults() MusicState { return MusicState(MusicStateless(p).withDefaults()) }

// Spec implements envs.Problem: 94 features.
func (p MusicStateless) Spec() envs.Spec {
	p = p.withDefaults()
	return envs.Spec{Candidates: p.Candidates, Dim: NumFields}
}

// Spec implements envs.Problem: 379 features, of which 285 are the state.
func (p MusicState) Spec() envs.Spec {
	p = p.withDefaults()
	state := StateSongs * (NumFields + 1)
	return envs.Spec{Candidates: p.Candidates, Dim: state + NumFields, State: state}
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run. It fails when the data cannot be
// read, see Source.
func (p MusicStateless) MarshalJSON() ([]byte, error) {
	type plain MusicStateless
	return json.Marshal(plain(p.withDefaults()))
}

// MarshalJSON writes the settings with the defaults filled in, as that of
// MusicStateless does.
func (p MusicState) MarshalJSON() ([]byte, error) {
	type plain MusicState
	return json.Marshal(plain(p.withDefaults()))
}

// New implements envs.Problem. It opens the Source, which may take a while the
// first time: call Source.Open before to see the progress. It returns an error
// when the data cannot be read, when a setting is out of bounds, when no user
// has enough rows, and when there is no seed.
func (p MusicStateless) New(seeds []uint64) (envs.Environment, error) {
	return newMusic("MusicStateless", p.withDefaults(), 0, seeds)
}

// New implements envs.Problem, as that of MusicStateless does.
func (p MusicState) New(seeds []uint64) (envs.Environment, error) {
	return newMusic("MusicState", MusicStateless(p.withDefaults()), StateSongs, seeds)
}

// Players returns how many users have enough rows to be drawn, and how many are
// left out because they have not. It opens the Source.
func (p MusicStateless) Players() (players, leftOut int, err error) {
	p = p.withDefaults()
	o, err := p.Source.open(nil)
	if err != nil {
		return 0, 0, err
	}
	players = len(o.users().players(p.Candidates))
	return players, len(o.data.Users) - players, nil
}

// Players is that of MusicStateless.
func (p MusicState) Players() (players, leftOut int, err error) {
	return MusicStateless(p).Players()
}

const (
	noRow = envs.NoItem

	// The bounds of what New accepts, as in package envs.
	maxCandidates = 255
	maxValues     = 1 << 30 // context values of all runs: 4 GiB
)

func newMusic(name string, p MusicStateless, state int, seeds []uint64) (envs.Environment, error) {
	if len(seeds) == 0 {
		return nil, fmt.Errorf("kkbox: %s needs at least one seed", name)
	}
	if p.Candidates < 2 || p.Candidates > maxCandidates {
		return nil, fmt.Errorf("kkbox: %s.Candidates is %d, want 2 to %d", name, p.Candidates, maxCandidates)
	}
	o, err := p.Source.open(nil)
	if err != nil {
		return nil, err
	}
	users := o.users()
	players := users.players(p.Candidates)
	if len(players) == 0 {
		return nil, fmt.Errorf("kkbox: %s.Candidates is %d, and none of %d users has so many rows", name, p.Candidates, len(o.data.Users))
	}
	table := &MusicTable{data: o.data, fields: o.fields(p.Fields), state: state}
	table.identity = fmt.Sprintf("kkbox %s, %+v, %d songs of state", o.identity, p.Fields, state)
	dim := table.stateDim() + NumFields
	runs := len(seeds)
	if perRun := max(p.Candidates*dim, len(o.data.Users)*state); runs > maxValues/perRun {
		return nil, fmt.Errorf("kkbox: %s has %d runs, at most %d fit in memory", name, runs, maxValues/perRun)
	}

	m := &music{
		table: table, users: users, players: players,
		candidates: p.Candidates, dim: dim, songs: make([]int32, p.Candidates),
		reward: make([]float32, runs), discount: make([]float32, runs),
	}
	for r, seed := range seeds {
		m.draws = append(m.draws, envs.NewRand(seed, "problem/contexts"))
		if state > 0 {
			m.discount[r] = 1
		}
	}
	if state > 0 {
		m.last = slices.Repeat([]int32{noRow}, runs*len(o.data.Users)*state)
	}
	for i := range m.steps {
		m.steps[i] = musicStep{
			contexts: make([]float32, runs*p.Candidates*dim),
			users:    make([]int32, runs),
			codes: envs.Codes{
				Items:   make([]int32, runs*p.Candidates),
				State:   make([]int32, runs*state),
				Choices: true,
				Table:   table,
			},
		}
	}
	m.offer()
	if o.data.Probability != nil {
		return &musicTwin{m}, nil
	}
	return m, nil
}

// music is the environment of both problems.
type music struct {
	table   *MusicTable
	users   *userRows
	players []int32 // users who may come

	candidates, dim int

	draws []*rand.Rand // [R]; who comes and what is on offer

	// songs are those of the rows on offer, [M]: scratch of offer.
	songs   []int32
	touched float32 // keeps expand's first look at them from being left out

	// last is [R, users, S]: the rows that were chosen at the user's last visits,
	// the latest first.
	last []int32

	// steps take turns, so that the observation that was decided on is still
	// there when its outcome is.
	steps   [2]musicStep
	current int

	reward, discount []float32 // [R]
}

// musicStep is what an observation is made of.
type musicStep struct {
	contexts []float32 // [R, M, D]
	users    []int32   // [R]
	codes    envs.Codes
}

func (m *music) Observe() envs.Observation {
	step := &m.steps[m.current]
	obs := envs.Observation{
		Runs: len(m.draws), Candidates: m.candidates, Dim: m.dim,
		Contexts: step.contexts, Codes: &step.codes,
	}
	if m.table.state > 0 {
		obs.Session = step.users
	}
	return obs
}

func (m *music) Step(actions []int) (envs.Outcome, error) {
	if len(actions) != len(m.draws) {
		panic(fmt.Sprintf("kkbox: %d actions for %d runs", len(actions), len(m.draws)))
	}
	for r, action := range actions {
		if action < 0 || action >= m.candidates {
			panic(fmt.Sprintf("kkbox: action %d of run %d is outside the %d candidates", action, r, m.candidates))
		}
	}
	step := &m.steps[m.current]
	for r, action := range actions {
		row := step.codes.Items[r*m.candidates+action]
		m.reward[r] = float32(m.table.data.Target[row])
		if last := m.lastOf(r, step.users[r]); len(last) > 0 {
			copy(last[1:], last)
			last[0] = row
		}
	}
	m.current = 1 - m.current
	m.offer()
	return envs.Outcome{Reward: m.reward, Discount: m.discount}, nil
}

// lastOf returns the rows that were chosen at a user's last visits, [S].
func (m *music) lastOf(r int, user int32) []int32 {
	s := m.table.state
	at := (r*len(m.table.data.Users) + int(user)) * s
	return m.last[at : at+s]
}

// offer draws user and songs of the current step.
func (m *music) offer() {
	step := &m.steps[m.current]
	for r, rng := range m.draws {
		user := m.players[rng.IntN(len(m.players))]
		step.users[r] = user
		items := step.codes.Items[r*m.candidates : (r+1)*m.candidates]
		rows, songs := m.users.of(user)
		drawDistinct(items, len(rows), rng)
		for i, at := range items {
			items[i], m.songs[i] = rows[at], songs[at]
		}

		state := step.codes.State[r*m.table.state : (r+1)*m.table.state]
		copy(state, m.lastOf(r, user))
		m.expand(step.contexts[r*m.candidates*m.dim:(r+1)*m.candidates*m.dim], state, items)
	}
}

// expand writes the contexts of one run's step, [M, D].
func (m *music) expand(contexts []float32, state, items []int32) {
	s := m.table.stateDim()
	fields := m.table.fields
	// The songs lie anywhere in memory, and most of a step is waiting for them.
	// This asks for all at once: a cache line holds 16 features.
	m.touched = 0
	for _, song := range m.songs {
		x := fields.Values[int(song)*NumFields:][:NumFields]
		m.touched += x[0] + x[16] + x[32] + x[48] + x[64] + x[80] + x[93]
	}
	m.table.expandState(contexts[:s], state)
	for i, row := range items {
		context := contexts[i*m.dim : (i+1)*m.dim]
		copy(context[:s], contexts[:s])
		fields.fill((*[NumFields]float32)(context[s:]), int(m.songs[i]), int(row))
	}
}

// drawDistinct draws distinct numbers below n, which is no less than their
// number, uniformly and in a random order.
func drawDistinct(dst []int32, n int, rng *rand.Rand) {
	for i := range dst {
		for {
			dst[i] = rng.Int32N(int32(n))
			if !slices.Contains(dst[:i], dst[i]) {
				break
			}
		}
	}
}

// PotentialRewards implements envs.PotentialOutcomes: the targets of the rows.
func (m *music) PotentialRewards(dst []float32) {
	items := m.steps[m.current].codes.Items
	if len(dst) != len(items) {
		panic(fmt.Sprintf("kkbox: %d rewards for %d runs of %d candidates", len(dst), len(m.draws), m.candidates))
	}
	for i, row := range items {
		dst[i] = float32(m.table.data.Target[row])
	}
}

// musicTwin is music where the law of the targets is known.
type musicTwin struct{ *music }

// ExpectedRewards implements envs.Oracle, see MusicStateless.
func (m *musicTwin) ExpectedRewards(dst []float64) {
	items := m.steps[m.current].codes.Items
	if len(dst) != len(items) {
		panic(fmt.Sprintf("kkbox: %d expected rewards for %d runs of %d candidates", len(dst), len(m.draws), m.candidates))
	}
	for i, row := range items {
		dst[i] = float64(m.table.data.Probability[row])
	}
}

// userRows holds the rows of every user, one user after the other, and their
// songs.
type userRows struct {
	rows, songs []int32
	from        []int // [users+1]
}

func newUserRows(data *Dataset) *userRows {
	n := len(data.User)
	u := &userRows{rows: make([]int32, n), songs: make([]int32, n), from: make([]int, len(data.Users)+1)}
	for _, user := range data.User {
		u.from[user+1]++
	}
	for i := range data.Users {
		u.from[i+1] += u.from[i]
	}
	next := slices.Clone(u.from)
	for row, user := range data.User {
		u.rows[next[user]], u.songs[next[user]] = int32(row), data.Song[row]
		next[user]++
	}
	return u
}

// of returns the rows of a user, in the order of time, and their songs.
func (u *userRows) of(user int32) (rows, songs []int32) {
	from, to := u.from[user], u.from[user+1]
	return u.rows[from:to], u.songs[from:to]
}

// players returns the users with at least so many rows.
func (u *userRows) players(rows int) []int32 {
	var users []int32
	for user := range len(u.from) - 1 {
		if u.from[user+1]-u.from[user] >= rows {
			users = append(users, int32(user))
		}
	}
	return users
}
