package neural

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/pgcr"
)

// Script returns the policy as a script, from its first step on, for a problem
// with or without sessions: see pgcr.Script. It returns an error that says why
// where it has none.
//
// Equal values are drawn for with other random numbers than those of Act.
func (p *Policy) Script(sessions bool) (pgcr.Script, error) {
	if p.steps > 0 {
		return nil, fmt.Errorf("neural: the policy has learned from %d steps already", p.steps)
	}
	s := script{Policy: p, sarsa: sessions && p.settings.Discount > 0}
	for range p.streams {
		s.timelines = append(s.timelines, pgcr.NewTimeline(p.settings.Discount))
	}
	return s, nil
}

// script is a Policy's.
type script struct {
	*Policy
	sarsa     bool
	timelines []*pgcr.Timeline
}

// The numbers of a run's step on the tape: which candidate is chosen whatever its
// value is, -1 for none, and a uniform number for equal values.
const (
	explored = iota
	tie
	runNumbers
)

// The shared numbers of a step on the tape.
const (
	adamSize = iota
	adamEps
	sharedNumbers
)

func (s script) Backend() compute.Backend       { return s.backend }
func (s script) UpdateEvery() int               { return s.settings.UpdateEvery }
func (s script) Parameters() []*pgcr.Parameters { return []*pgcr.Parameters{s.network} }

func (s script) Tape() pgcr.TapeSize {
	size := pgcr.TapeSize{Floats: runNumbers, Shared: sharedNumbers, Batch: s.settings.BatchSize, Sarsa: s.sarsa}
	if s.dropout > 0 {
		size.Update = s.network.Network.MaskUnits()
		size.Floats += size.Update
	}
	return size
}

func (s script) Lay(r, step int, row pgcr.TapeRow) {
	streams := &s.streams[r]
	row.Floats[explored] = -1
	if s.explore != nil {
		row.Floats[explored] = float32(s.explore(s.spec.Candidates, streams.act))
	}
	row.Floats[tie] = float32(streams.tie.Float64())
	pgcr.DropUnits(row.Floats[runNumbers:], s.dropout, streams.actMask)
	timeline := s.timelines[r]
	timeline.Add(row.Visit)
	if row.Update == nil || timeline.Ready() == 0 {
		return
	}
	pgcr.DropUnits(row.Update.Floats, s.dropout, streams.batchMask)
	row.Update.Draw(timeline, streams.batch)
}

func (s script) LayShared(step int, shared []float32) {
	size, eps := pgcr.Adam{Rate: s.settings.Rate}.Scalars(int64(step+1) / int64(s.settings.UpdateEvery))
	shared[adamSize], shared[adamEps] = float32(size), float32(eps)
}

func (s script) Decide(params []*Node, tape pgcr.TapeNodes, contexts *Node) *Node {
	m, runs := s.spec.Candidates, s.Runs()
	k := len(s.network.Weights())
	values := s.network.Network.ForwardRows(params[:k], contexts, s.mask(tape, runNumbers)).Output // [R, M]
	best := pgcr.OneOfBest(values, s.number(tape, tie))
	given := s.number(tape, explored)
	choice := Where(GreaterOrEqual(given, ZerosLike(given)), given, best)
	sound := ReduceSum(Mul(values, ZerosLike(values)), 1) // 0, but NaN where a value is not finite
	return Where(Reshape(Equal(sound, ZerosLike(sound)), runs), pgcr.SlotOf(Reshape(choice, runs), tape.Slot, m), Neg(OnesLike(sound)))
}

func (s script) Learn(params []*Node, tape pgcr.TapeNodes, history pgcr.DeviceHistory) []*Node {
	return updateGraph(s.network.Network, updateInputs{
		params: params, rows: history.Chosen(), reward: history.Reward(), mask: s.mask(tape, 0),
		nextRows: history.Next(), discount: history.Discount(), ready: history.Ready(),
		size: tape.SharedNumber(adamSize), eps: tape.SharedNumber(adamEps),
	})
}

func (s script) Diverged(run, step int) error {
	s.network.Updates = int64(step / s.settings.UpdateEvery)
	return s.diverged(run, "the value of a candidate is not finite")
}

// number is one of the numbers of each run, [R, 1].
func (s script) number(tape pgcr.TapeNodes, at int) *Node {
	return Slice(tape.Floats, AxisRange(), AxisRange(at, at+1))
}

// mask is the mask that begins at one of the floats; nil without dropout.
func (s script) mask(tape pgcr.TapeNodes, from int) *Node {
	if s.dropout == 0 {
		return nil
	}
	return tape.Mask(from, s.network.Network.MaskUnits())
}

// explore returns a candidate that is chosen whatever the values are, or -1.
type explore func(candidates int, rng *rand.Rand) int
