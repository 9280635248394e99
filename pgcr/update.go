package pgcr

import . "github.com/gomlx/gomlx/core/graph"

// Batch is what an update learns from: B steps of each run's history, and N resampled sets of up to M
// contexts for each of them. Contexts are columns, see Network.
type Batch struct {
	Contexts *Node // [R, D+1, K]: what the sets are made of, B*M contexts that all N share, or N*B*M
	Sets     *Node // [R, N, B*M] int32: which of the R*K contexts stands at each place of the sets
	Absent   *Node // [R, N, B, M]: 0 at a place with a context, else Absent
	Mask     *Node // [R, 1, H], Actor-Dropout; nil: none

	Kappa   *Node // scalar: Time-Dependent Greed
	Updates *Node // scalar: t = 1, 2, ... of Adam

	Chosen *Node // [R, D+1, B]: the contexts that were chosen
	Reward *Node // [R, B]
	Ready  *Node // [R, B]: 1, or 0 where a run has no step to learn from yet

	Next     *Node // [R, D+1, B]: the contexts chosen at the next steps of the sessions; nil in a bandit
	Discount *Node // [R, B]: gamma, or 0 at the end of an episode; nil in a bandit

	WeightedCritic               bool    // p̂ is in (23), else 1
	ActorRate, CriticRate, Decay float64 // the learning rates, see State.Descend
}

// inSets copies a number of each context, [R, K], to the places of that context in the sets: [R, N,
// B, M].
func (b Batch) inSets(x *Node) *Node {
	return Reshape(Gather(Reshape(x, -1), InsertAxes(b.Sets, -1)), b.Absent.Shape().Dimensions...)
}

// Update is one step of the algorithm (section 5.1): the equations (21) to (26) on a batch. It
// returns the successors of actor and critic, the squared norms of their gradients, [R], and their
// losses, summed over runs.
//
// As in the paper the actor learns from the critic that has already been updated, f_{phi_{t+1}} in
// (25), and the critic is weighted with the probabilities of the actor before its update.
//
// For (21) the chosen context of a step takes the first place of each of the step's N sets, and meets
// the M-1 others there. In a bandit it may be among them already, in (M-1)/(B*M) of the sets, 1.3 % by
// default. Such a set halves a probability of 1, so p̂ is low by up to 0.006.
func Update(actor, critic State, b Batch) (actor2, critic2 State, measures []*Node) {
	d := b.Absent.Shape().Dimensions
	runs, batch, candidates := d[0], d[2], d[3]
	scores := Add(b.inSets(actor.Forward(b.Contexts, b.Mask)), b.Absent)

	weight := b.Ready
	if b.WeightedCritic && candidates > 1 { // a single candidate has probability 1
		own := actor.Forward(b.Chosen, b.Mask)
		others := Slice(scores, AxisRange(), AxisRange(), AxisRange(), AxisRange(1))
		weight = Mul(weight, ResampledProbabilities(own, others, b.Kappa)) // (21)
	}
	target := b.Reward
	if b.Next != nil {
		target = SarsaTarget(b.Reward, b.Discount, critic.Forward(b.Next, nil)) // (22)
	}
	criticLoss := CriticLoss(weight, target, critic.Forward(b.Chosen, nil))                         // (23)
	critic2, criticSquared := critic.Descend(criticLoss, b.CriticRate, b.Decay, b.Updates, b.Ready) // (24)

	// A run that is not ready adds nothing to the loss.
	values := Mul(b.inSets(critic2.Forward(b.Contexts, nil)), Reshape(b.Ready, runs, 1, batch, 1))
	actorLoss := ActorLoss(Probabilities(scores, b.Kappa), values)                             // (25)
	actor2, actorSquared := actor.Descend(actorLoss, b.ActorRate, b.Decay, b.Updates, b.Ready) // (26)
	return actor2, critic2, []*Node{actorSquared, criticSquared, actorLoss, criticLoss}
}

// State is a network in a graph: its parameters and the moments of Adam, [R, P] each. The P numbers
// of a run are those of Network.Shapes, one array after the other.
type State struct {
	Network      Network
	Params, M, V *Node
}

// Forward applies the network, as Network.Forward does.
func (s State) Forward(contexts, mask *Node) *Node {
	return s.Network.Forward(s.Network.split(s.Params), contexts, mask)
}

// Descend makes the step (24) or (26) of a loss, summed over runs, with a learning rate of rate /
// sqrt(1 + decay t), and returns the squared norm of the gradient of each run, [R]. A run whose ready,
// [R, B], is 0 stays as it is: with a gradient of 0 its moments would still move its weights.
func (s State) Descend(loss *Node, rate, decay float64, t, ready *Node) (successor State, squared *Node) {
	gradient := Gradient(loss, s.Params)[0]
	falling := Div(Scalar(loss.Graph(), t.DType(), rate), Sqrt(OnePlus(MulScalar(t, decay))))
	params, m, v := Adam(s.Params, s.M, s.V, gradient, falling, t)
	learns := GreaterThan(ReduceMax(ready, 1), ScalarZero(loss.Graph(), ready.DType()))
	return State{s.Network, Where(learns, params, s.Params), Where(learns, m, s.M), Where(learns, v, s.V)}, ReduceSum(Square(gradient), 1)
}
