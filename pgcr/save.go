package pgcr

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/contextrec/contextrec/envs"
)

// saved is everything that an agent is made of. A file is the line magic, the
// SHA-256 sum of the rest, and saved as gob.
type saved struct {
	Config, Estimator string // JSON
	Spec              envs.Spec
	Steps             int64
	ActorUpdates      int64
	CriticUpdates     int64
	Actor, Critic     [][]float32
	Streams           [][][]byte
	Replay            []savedHistory

	Table      string // identity of the codes' table; empty where contexts are kept
	StateCodes int
}

type savedHistory struct {
	Contexts                 [][]float32
	Codes                    [][]int32
	Chosen                   []uint8
	Reward, Discount         []float32
	Next, Ready, SessionOf   []int32
	Steps                    int
	HasSessions, Initialised bool
}

const magic = "contextrec pgcr agent 1\n"

// Save writes everything that matters to w: both networks, Adam's moments, the
// step, every random stream and the history. An agent that is loaded goes on
// with the same actions. An agent whose parameters have diverged is not saved:
// the error is an envs.RunError.
func (a *Agent) Save(w io.Writer) error {
	if a.failed != nil {
		return a.failed
	}
	s := saved{
		Spec: a.spec, Steps: a.steps, ActorUpdates: a.actor.Updates, CriticUpdates: a.critic.Updates,
		Table: a.replay.identity, StateCodes: a.replay.state,
	}
	config, err := json.Marshal(a.config)
	if err != nil {
		return err
	}
	s.Config, s.Estimator = string(config), describe(a.estimator)
	if s.Actor, err = a.actor.State(); err != nil {
		return err
	}
	if s.Critic, err = a.critic.State(); err != nil {
		return err
	}
	if err := errors.Join(a.finite("actor", s.Actor), a.finite("critic", s.Critic)); err != nil {
		return err
	}
	for i := range a.streams {
		var states [][]byte
		for _, source := range a.streams[i].all() {
			state, err := source.MarshalBinary()
			if err != nil {
				return err
			}
			states = append(states, state)
		}
		s.Streams = append(s.Streams, states)
	}
	for i := range a.replay.runs {
		h := &a.replay.runs[i]
		s.Replay = append(s.Replay, savedHistory{h.contexts.rows, h.codes.rows, h.chosen, h.reward, h.discount, h.next, h.ready, h.session,
			h.steps, h.session != nil, a.learn != nil})
	}
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(s); err != nil {
		return err
	}
	sum := sha256.Sum256(body.Bytes())
	for _, part := range [][]byte{[]byte(magic), sum[:], body.Bytes()} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("pgcr: saving an agent: %w", err)
		}
	}
	return nil
}

// finite returns a RunError for the first run that has a parameter, or a moment
// of one, which is not finite.
func (a *Agent) finite(network string, state [][]float32) error {
	for r := range a.Runs() {
		for _, values := range state {
			per := len(values) / a.Runs()
			for _, v := range values[r*per : (r+1)*per] {
				if v-v != 0 { // NaN or infinite
					return a.diverged(r, fmt.Errorf("a parameter of the %s is %v", network, v))
				}
			}
		}
	}
	return nil
}

func describe(e Estimator) string {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Sprintf("%T: %v", e, err)
	}
	return fmt.Sprintf("%T %s", e, text)
}

// Load reads an agent of PGCR that Save wrote, and puts it on the default
// backend. It returns an error for anything else, a damaged file included.
func Load(r io.Reader) (*Agent, error) {
	return load(r, func(c Config) Estimator { return Resampled{N: c.Resamples} })
}

// LoadAgent is Load for an agent that Config.NewAgent made with that estimator.
func LoadAgent(r io.Reader, estimator Estimator) (*Agent, error) {
	return load(r, func(Config) Estimator { return estimator })
}

func load(r io.Reader, estimator func(Config) Estimator) (*Agent, error) {
	file, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("pgcr: loading an agent: %w", err)
	}
	body, ok := bytes.CutPrefix(file, []byte(magic))
	if !ok {
		return nil, errors.New("pgcr: not a saved agent")
	}
	if len(body) < sha256.Size || sha256.Sum256(body[sha256.Size:]) != [sha256.Size]byte(body) {
		return nil, errors.New("pgcr: the saved agent is damaged")
	}
	var s saved
	if err := gob.NewDecoder(bytes.NewReader(body[sha256.Size:])).Decode(&s); err != nil {
		return nil, fmt.Errorf("pgcr: loading an agent: %w", err)
	}
	var config Config
	if err := json.Unmarshal([]byte(s.Config), &config); err != nil {
		return nil, fmt.Errorf("pgcr: settings of the saved agent: %w", err)
	}
	e := estimator(config)
	if got := describe(e); got != s.Estimator {
		return nil, fmt.Errorf("pgcr: the saved agent estimates with %s, not with %s", s.Estimator, got)
	}
	a, err := config.NewAgent(s.Spec, make([]uint64, len(s.Streams)), e)
	if err != nil {
		return nil, err
	}
	return a, a.restore(s)
}

// restore replaces the state of a new agent.
func (a *Agent) restore(s saved) error {
	a.steps, a.actor.Updates, a.critic.Updates = s.Steps, s.ActorUpdates, s.CriticUpdates
	a.actor.restore(s.Actor)
	a.critic.restore(s.Critic)
	for i := range a.streams {
		for j, source := range a.streams[i].all() {
			if err := source.UnmarshalBinary(s.Streams[i][j]); err != nil {
				return fmt.Errorf("pgcr: random stream of the saved agent: %w", err)
			}
		}
	}
	if s.Table != "" {
		a.replay.encode(s.Table, s.StateCodes)
	}
	for i, h := range s.Replay {
		a.replay.runs[i].restore(h)
	}
	if len(s.Replay) > 0 && s.Replay[0].Initialised {
		var err error
		if a.learn, err = newLearner(a, s.Replay[0].HasSessions); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) restore(s savedHistory) {
	*h = history{
		Timeline: &Timeline{gamma: h.gamma, steps: s.Steps, discount: s.Discount, next: s.Next, ready: s.Ready, session: s.SessionOf},
		contexts: pages[float32]{width: h.contexts.width}, codes: pages[int32]{width: h.codes.width},
		chosen: s.Chosen, reward: s.Reward,
	}
	h.contexts.restore(s.Contexts)
	h.codes.restore(s.Codes)
	if s.HasSessions {
		h.revisit()
	}
}

func (p *pages[T]) restore(rows [][]T) {
	for _, page := range rows {
		p.rows = append(p.rows, append(make([]T, 0, pageRows*p.width), page...))
	}
}
