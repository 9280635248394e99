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

	// UpdateEvery is after how many steps the policy learns.
	UpdateEvery() int

	// Parameters holds what Learn changes, one or two networks.
	Parameters() []*Parameters

	// Decide is the graph of Act: the slot that each run chooses, [R] float32, or
	// -1 where there is none because the networks have diverged. contexts is
	// [R, M, Width], by slot.
	Decide(params []*Node, tape TapeNodes, contexts *Node) *Node

	// Learn is the graph of Update: the successors of params. tape holds the
	// floats of the TapeUpdate, and the shared numbers of the step before it.
	Learn(params []*Node, tape TapeNodes, history DeviceHistory) []*Node

	// Diverged explains a choice of -1.
	Diverged(run, step int) error
}

// TapeSize is how many numbers a tape holds.
type TapeSize struct {
	Floats int  // a step, of each run
	Shared int  // a step, of all runs together
	Slots  bool // whether the candidates of a step are put in a random order

	Update int  // floats of an update, of each run
	Batch  int  // B, steps of the history that are drawn for an update, of each run
	Rivals int  // C, contexts of its session that are drawn for each step of a batch
	Sarsa  bool // whether targets look a step ahead
}

// TapeRow is one step of one run on a tape.
type TapeRow struct {
	// Visit says whose step it is; nil in a bandit. It is given.
	Visit *Visit

	Floats []float32
	Order  []int       // [M], the candidate that stands at each slot; as it is where the tape has no Slots
	Update *TapeUpdate // nil where no update follows the step
}

// Visit is what a step of a session has beside its contexts.
type Visit struct {
	Session  int32
	Discount float32 // the Outcome's
}

// TapeUpdate is what is drawn for one update of one run. Steps are numbers, the
// first being 0. All are zeros at first.
type TapeUpdate struct {
	Floats []float32
	Batch  []int32 // [B]

	Rivals     []int32 // [C*B], steps, rival by rival
	RivalSlots []int32 // [C*B], the candidate's slot at that step

	// Of Sarsa, else nil.
	Ready    *float32  // 1 where the run learns, else 0
	Discount []float32 // [B], gamma or 0
	Next     []int32   // [B], the next step of the session, any where Discount is 0
}

// Draw draws the batch, and with Sarsa what follows from it, from a timeline that
// is Ready.
func (u *TapeUpdate) Draw(t *Timeline, rng *rand.Rand) {
	for i := range u.Batch {
		u.Batch[i] = int32(t.Draw(rng))
	}
	if u.Ready == nil {
		return
	}
	*u.Ready = 1
	for i, step := range u.Batch {
		discount, next := t.Next(int(step))
		u.Discount[i], u.Next[i] = discount, int32(next)
	}
}

// TapeNodes is one step of all runs in a graph, or one update.
type TapeNodes struct {
	Floats *Node // [R, Floats], or nil where there are none
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

// DeviceHistory is the batch of an update, as Learn sees it.
type DeviceHistory interface {
	Contexts() *Node // [R, B*M, Width], all candidates of the batch, by step and slot
	Chosen() *Node   // [R, B, Width], the chosen ones
	Slot() *Node     // [R, B] float32, where they stand
	Reward() *Node   // [R, B]

	Rivals() *Node // [R, C*B, Width], rival by rival; nil where C is 0

	// Of Sarsa, else nil.
	Ready() *Node    // [R, 1]
	Discount() *Node // [R, B]
	Next() *Node     // [R, B, Width], what was chosen at the next step
}

// Script returns the agent as a script, from its first step on, for a problem
// with or without sessions. It returns an error that says why where it has none.
func (a *Agent) Script(sessions bool) (Script, error) {
	if a.steps > 0 {
		return nil, fmt.Errorf("pgcr: the agent has learned from %d steps already", a.steps)
	}
	s := script{Agent: a, sessions: sessions}
	if sessions {
		s.rivals = a.estimator.Rivals(a.spec.Candidates)
	} else if err := a.estimator.Check(a.config.BatchSize, a.spec.Candidates); err != nil {
		return nil, err
	}
	for range a.streams {
		s.timelines = append(s.timelines, NewTimeline(a.config.Discount))
	}
	return s, nil
}

// script is an Agent's.
type script struct {
	*Agent
	sessions  bool
	rivals    int // C
	timelines []*Timeline
}

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
	size := TapeSize{Floats: 1, Shared: sharedNumbers, Slots: true, Batch: s.config.BatchSize, Rivals: s.rivals,
		Sarsa: s.sessions && s.config.Discount > 0}
	if s.config.Dropout > 0 {
		size.Update = s.actor.Network.MaskUnits()
		size.Floats += size.Update
	}
	return size
}

// Lay writes the uniform number of the choice and, with Actor-Dropout, the masks
// of the choice and of the update.
func (s script) Lay(r, step int, row TapeRow) {
	streams := &s.streams[r]
	row.Floats[0] = float32(rand.New(streams.act).Float64())
	DropUnits(row.Floats[1:], s.config.Dropout, rand.New(streams.actMask))
	shuffle(row.Order, rand.New(streams.slots))
	timeline := s.timelines[r]
	timeline.Add(row.Visit)
	if row.Update == nil || timeline.Ready() == 0 {
		return
	}
	row.Update.Draw(timeline, rand.New(streams.batch))
	rng := rand.New(streams.rivals)
	b := s.config.BatchSize
	for i, step := range row.Update.Batch {
		for j := range s.rivals {
			row.Update.Rivals[j*b+i] = int32(timeline.Rival(int(step), rng))
			row.Update.RivalSlots[j*b+i] = int32(rng.IntN(s.spec.Candidates))
		}
	}
	DropUnits(row.Update.Floats, s.config.Dropout, rand.New(streams.batchMask))
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
	pass := s.actor.Network.ForwardRows(params[:len(s.actor.tensors)/3], contexts, s.mask(tape, 1))
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
		picked: Reshape(OneHotSlots(history.Slot(), m), s.Runs(), b*m), mask: s.mask(tape, 0),
		nextRows: history.Next(), discount: history.Discount(), ready: history.Ready(), rivalRows: history.Rivals(),
		kappa:     tape.SharedNumber(kappaUpdate),
		actorSize: tape.SharedNumber(actorSize), actorEps: tape.SharedNumber(actorEps),
		criticSize: tape.SharedNumber(criticSize), criticEps: tape.SharedNumber(criticEps),
		batch: b, candidates: m, run: s.Runs(),
	}
	if in.ready != nil { // a run that has nothing to learn from has drawn nothing
		in.picked = Mul(in.picked, in.ready)
	}
	return updateGraph(s.config, s.estimator, s.actor.Network, s.critic.Network, in)
}

func (s script) Diverged(run, step int) error {
	s.steps, s.actor.Updates = int64(step), int64(step/s.config.UpdateEvery)
	return s.diverged(run, fmt.Errorf("the probability of a candidate is NaN"))
}

// mask is the mask that begins at one of the floats; nil without dropout.
func (s script) mask(tape TapeNodes, from int) *Node {
	if s.config.Dropout == 0 {
		return nil
	}
	return tape.Mask(from, s.actor.Network.MaskUnits())
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
