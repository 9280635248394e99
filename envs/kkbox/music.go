package kkbox

import (
	"cmp"
	"encoding/json"

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
// A context is the song's 94 fields. The user is the Session, which never ends:
// Discount is 1.
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
// The next step of a session is the user's next visit. What is chosen changes
// later states and nothing else.
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
