package pgcr

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

// A Script is a policy in the form in which a device plays it by itself, many
// steps at a time (package ondevice): what is random is drawn ahead by the host
// and laid out on a tape, from the same streams as in Act and Update, and what
// remains of a step is a graph.
//
// A script starts with the policy at its first step, and takes the policy over:
// its parameters and streams go on with the script.
type Script interface {
	Runs() int // R

	// Backend computes.
	Backend() compute.Backend

	// Tape returns how much of the tape a step takes.
	Tape() TapeSize

	// Lay draws run r's next step, steps being laid out in order, 0 first. It
	// may be called for several runs at once.
	Lay(r, step int, row TapeRow)

	// LayShared writes what is the same for all runs, [TapeSize.Shared].
	LayShared(step int, shared []float32)

	// UpdateEvery is after how many steps the policy learns. The Batch of a step
	// is drawn at the last of them.
	UpdateEvery() int

	// Parameters holds what Learn changes, one or two networks.
	Parameters() []*Parameters

	// Decide is the graph of Act: the slot that each run chooses, [R] float32, or
	// -1 where there is none because the networks have diverged. contexts is
	// [R, M, Width], by slot.
	Decide(params []*Node, tape TapeNodes, contexts *Node) *Node

	// Learn is the graph of Update: the successors of params.
	Learn(params []*Node, tape TapeNodes, history DeviceHistory) []*Node

	// Diverged explains a choice of -1.
	Diverged(run, step int) error
}

// TapeSize is how many numbers a step of a tape holds.
type TapeSize struct {
	Floats int  // of each run
	Shared int  // of all runs together
	Batch  int  // steps of the history that are drawn for each run
	Slots  bool // whether the candidates of a step are put in a random order
}

// TapeRow is one step of one run on a tape.
type TapeRow struct {
	Floats []float32
	Batch  []int32 // numbers of steps, the first being 0
	Order  []int   // [M], the candidate that stands at each slot; as it is where the tape has no Slots
}

// TapeNodes is one step of all runs in a graph.
type TapeNodes struct {
	Floats *Node // [R, Floats]
	Shared *Node // [Shared]
	Slot   *Node // [R, M] float32, the slot at which each candidate stands; nil where the tape has no Slots
}

// SharedNumber is one of the shared numbers, a scalar.
func (t TapeNodes) SharedNumber(at int) *Node { return Reshape(Slice(t.Shared, AxisRange(at, at+1))) }

// Mask is the dropout mask, [R, 1, units], that begins at one of the floats.
func (t TapeNodes) Mask(from, units int) *Node {
	flat := Slice(t.Floats, AxisRange(), AxisRange(from, from+units))
	return Reshape(flat, flat.Shape().Dimensions[0], 1, units)
}

// DeviceHistory is the batch of a step, as Learn sees it.
type DeviceHistory interface {
	Contexts() *Node // [R, B*M, Width], all candidates of the batch, by step and slot
	Chosen() *Node   // [R, B, Width], the chosen ones
	Slot() *Node     // [R, B] float32, where they stand
	Reward() *Node   // [R, B]
}

// Script returns the agent as a script, from its first step on. It returns an
// error that says why where it has none.
func (a *Agent) Script() (Script, error) {
	if a.steps > 0 {
		return nil, fmt.Errorf("pgcr: the agent has learned from %d steps already", a.steps)
	}
	if err := a.estimator.Check(a.config.BatchSize, a.spec.Candidates); err != nil {
		return nil, err
	}
	return script{a}, nil
}

// script is an Agent's.
type script struct{ *Agent }

// The shared numbers of a step on the tape of an agent.
const (
	kappaAct = iota
	kappaUpdate
	actorSize
	actorEps
	criticSize
	criticEps
	sharedNumbers
)

func (s script) Tape() TapeSize {
	size := TapeSize{Floats: 1, Shared: sharedNumbers, Batch: s.config.BatchSize, Slots: true}
	if s.config.Dropout > 0 {
		size.Floats += 2 * s.actor.Network.MaskUnits()
	}
	return size
}

// Lay writes the uniform number of the choice and, with Actor-Dropout, the masks
// of the choice and of the update.
func (s script) Lay(r, step int, row TapeRow) {
	streams := &s.streams[r]
	row.Floats[0] = float32(rand.New(streams.act).Float64())
	units := (len(row.Floats) - 1) / 2
	if units > 0 {
		DropUnits(row.Floats[1:1+units], s.config.Dropout, rand.New(streams.actMask))
	}
	shuffle(row.Order, rand.New(streams.slots))
	if (step+1)%s.config.UpdateEvery != 0 {
		return
	}
	rng := rand.New(streams.batch)
	for i := range row.Batch {
		row.Batch[i] = int32(rng.IntN(step + 1))
	}
	if units > 0 {
		DropUnits(row.Floats[1+units:], s.config.Dropout, rand.New(streams.batchMask))
	}
}

func (s script) LayShared(step int, shared []float32) {
	update := int64(step+1) / int64(s.config.UpdateEvery)
	write := func(at int, x float64) { shared[at] = float32(x) }
	write(kappaAct, s.config.Greed.At(int64(step)))
	write(kappaUpdate, s.config.Greed.At(int64(step+1)))
	size, eps := Adam{s.config.ActorRate}.Scalars(update)
	write(actorSize, size)
	write(actorEps, eps)
	size, eps = Adam{s.config.CriticRate}.Scalars(update)
	write(criticSize, size)
	write(criticEps, eps)
}

func (s script) Backend() compute.Backend  { return s.backend }
func (s script) UpdateEvery() int          { return s.config.UpdateEvery }
func (s script) Parameters() []*Parameters { return []*Parameters{s.actor, s.critic} }

func (s script) Decide(params []*Node, tape TapeNodes, contexts *Node) *Node {
	m := s.spec.Candidates
	pass := s.actor.Network.ForwardRows(params[:len(s.actor.tensors)/3], contexts, s.mask(tape, 0))
	scores := ByCandidate(pass.Output, tape.Slot)
	p := Exp(LogProbabilities(scores, tape.SharedNumber(kappaAct)))
	u := Slice(tape.Floats, AxisRange(), AxisRange(0, 1)) // [R, 1]
	return SlotOf(sampleNodes(p, u, m), tape.Slot, m)
}

func (s script) Learn(params []*Node, tape TapeNodes, history DeviceHistory) []*Node {
	ka := len(s.actor.tensors)
	b, m := s.config.BatchSize, s.spec.Candidates
	in := updateInputs{
		actor: params[:ka], critic: params[ka:], rows: history.Contexts(), reward: history.Reward(),
		picked: Reshape(OneHotSlots(history.Slot(), m), s.Runs(), b*m), mask: s.mask(tape, 1),
		kappa:     tape.SharedNumber(kappaUpdate),
		actorSize: tape.SharedNumber(actorSize), actorEps: tape.SharedNumber(actorEps),
		criticSize: tape.SharedNumber(criticSize), criticEps: tape.SharedNumber(criticEps),
		batch: b, candidates: m, run: s.Runs(),
	}
	return updateGraph(s.config, s.estimator, s.actor.Network, s.critic.Network, in)
}

func (s script) Diverged(run, step int) error {
	s.steps, s.actor.Updates = int64(step), int64(step/s.config.UpdateEvery)
	return s.diverged(run, fmt.Errorf("the probability of a candidate is NaN"))
}

// mask is the mask of the choice, 0, or of the update, 1; nil without dropout.
func (s script) mask(tape TapeNodes, which int) *Node {
	if s.config.Dropout == 0 {
		return nil
	}
	units := s.actor.Network.MaskUnits()
	return tape.Mask(1+which*units, units)
}

// sampleNodes inverts the distribution functions at u, [R, 1], as sample does:
// the candidate, [R] float32, with probabilities p, [R, M]; -1 where they are NaN.
func sampleNodes(p, u *Node, m int) *Node {
	g, runs := p.Graph(), p.Shape().Dimensions[0]
	index := make([]float32, m)
	for i := range index {
		index[i] = float32(i)
	}
	sums := runningSums(p)
	passed := ReduceSum(ConvertDType(GreaterOrEqual(u, sums), p.DType()), 1)
	positive := ConvertDType(GreaterThan(p, ZerosLike(p)), p.DType())
	last := ReduceMax(Mul(positive, Reshape(Const(g, index), 1, m)), 1)
	whole := Slice(sums, AxisRange(), AxisRange(m-1, m))
	ok := Equal(whole, whole) // not so for NaN
	return Where(Reshape(ok, runs), Min(passed, last), Neg(OnesLike(last)))
}

// runningSums returns the sums of the first 1 ... M values of each run, [R, M].
func runningSums(x *Node) *Node {
	runs, m := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	below := make([][]float32, m) // [i][j]: whether value j counts in the sum up to i
	for i := range below {
		below[i] = make([]float32, m)
		for j := 0; j <= i; j++ {
			below[i][j] = 1
		}
	}
	return ReduceSum(Mul(Reshape(x, runs, 1, m), Reshape(Const(x.Graph(), below), 1, m, m)), 2)
}

// OneOfBest returns the candidate of the largest value of each run, [R, 1]; of
// several with equal values that which u, uniform in [0, 1), says. values is
// [R, M], u [R, 1].
func OneOfBest(values, u *Node) *Node {
	best := ConvertDType(Equal(values, ReduceAndKeep(values, ReduceMax, 1)), values.DType())
	count := ReduceAndKeep(best, ReduceSum, 1)
	rank := OnePlus(Min(Floor(Mul(u, count)), AddScalar(count, -1))) // of the one to take, 1 ... count
	before := ConvertDType(LessThan(runningSums(best), rank), values.DType())
	return ReduceAndKeep(before, ReduceSum, 1)
}

// ByCandidate puts values that stand by slot, [R, M], in the order of the
// candidates, whose slots are slot, [R, M]; nil for slots that are that order.
func ByCandidate(values, slot *Node) *Node {
	if slot == nil {
		return values
	}
	dims := values.Shape().Dimensions
	runs, m := dims[0], dims[1]
	return ReduceSum(Mul(Reshape(values, runs, 1, m), OneHotSlots(slot, m)), 2)
}

// SlotOf returns the slot of a candidate of each run, [R] float32, where slot is
// as in ByCandidate. A candidate of -1 stands at -1.
func SlotOf(candidate, slot *Node, m int) *Node {
	if slot == nil {
		return candidate
	}
	runs := candidate.Shape().Dimensions[0]
	at := ReduceSum(Mul(slot, Reshape(OneHotSlots(candidate, m), runs, m)), 1)
	return Add(at, Min(candidate, ZerosLike(candidate))) // the sum for -1 is 0
}

// OneHotSlots turns numbers 0 ... m-1, float32, into vectors of m values with a
// 1 at their place: [...] becomes [..., m].
func OneHotSlots(x *Node, m int) *Node {
	dims := x.Shape().Dimensions
	index := make([]float32, m)
	for i := range index {
		index[i] = float32(i)
	}
	ones := slices.Repeat([]int{1}, len(dims))
	places := Reshape(Const(x.Graph(), index), append(ones, m)...)
	return ConvertDType(Equal(Reshape(x, append(slices.Clone(dims), 1)...), places), x.DType())
}
