package pgcr

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// Batch is what an update learns from: B steps of each run's history and the
// candidate sets that were resampled for them.
type Batch struct {
	Contexts *Node // [R, D+1, K], columns; the resampled sets are made of them
	Sets     *Node // [R, N, B*M] int32: which of the R*K contexts stands at each place of the sets
	Absent   *Node // [R, N, B, M]: 0 at a place with a context, else Absent
	Chosen   *Node // [R, D+1, B], columns: the chosen contexts
	Reward   *Node // [R, B]
	Weight   *Node // [R, B]: 1, or 0 where a run has nothing to learn from yet; nil: 1
	Next     *Node // [R, D+1, B], columns: the contexts chosen at the next steps of the sessions; nil in a bandit
	Discount *Node // [R, B]: gamma, or 0 at the end of an episode; nil in a bandit
	Mask     *Node // [R, 1, H], Actor-Dropout; nil: none
	Kappa    *Node // scalar, Time-Dependent Greed
}

// resampled puts a value of each context, [R, K], at its places in the resampled
// sets: [R, N, B, M].
func (b Batch) resampled(x *Node) *Node {
	return Reshape(Gather(Reshape(x, -1), InsertAxes(b.Sets, -1)), b.Absent.Shape().Dimensions...)
}

// Learner is what an update needs beside a batch and the state of the networks.
type Learner struct {
	Actor, Critic         Network
	ActorRate, CriticRate *Node // scalars
	UnweightedCritic      bool  // 1 in place of p̂ in (23)
}

// Update is one step of the algorithm (section 5.1): the equations (21) to (26)
// on a batch. t = 1, 2, ... counts the updates. It returns the successors of actor
// and critic.
//
// As in the paper the actor learns from the critic that has already been
// updated, f_{phi_{t+1}} in (25), and the critic is weighted with the
// probabilities of the actor before its update. The others of a chosen context, in
// (21), are those at the places from the second one on of the sets of its step.
func (l Learner) Update(actor, critic State, b Batch, t *Node) (actor2, critic2 State, m Measures) {
	scores := b.resampled(l.Actor.Forward(actor.Params, b.Contexts, b.Mask))
	scores = Add(scores, b.Absent)

	weight := OnesLike(b.Reward)
	if m := b.Absent.Shape().Dimensions[3]; !l.UnweightedCritic && m > 1 { // a single candidate has probability 1
		own := l.Actor.Forward(actor.Params, b.Chosen, b.Mask)
		others := Slice(scores, AxisRange(), AxisRange(), AxisRange(), AxisRange(1))
		weight = ResampledProbabilities(own, others, b.Kappa) // (21)
	}
	target := b.Reward
	if b.Next != nil {
		target = SarsaTarget(b.Reward, b.Discount, l.Critic.Forward(critic.Params, b.Next, nil)) // (22)
	}
	if b.Weight != nil {
		weight = Mul(weight, b.Weight)
	}
	m.CriticLoss = CriticLoss(weight, target, l.Critic.Forward(critic.Params, b.Chosen, nil)) // (23)
	gradients := Gradient(m.CriticLoss, critic.Params...)
	critic2, m.CriticGradient = critic.step(gradients, l.CriticRate, t), squares(gradients) // (24)

	values := b.resampled(l.Critic.Forward(critic2.Params, b.Contexts, nil))
	if b.Weight != nil {
		d := b.Weight.Shape().Dimensions
		values = Mul(values, Reshape(b.Weight, d[0], 1, d[1], 1))
	}
	m.ActorLoss = ActorLoss(Probabilities(scores, b.Kappa), values) // (25)
	gradients = Gradient(m.ActorLoss, actor.Params...)
	actor2, m.ActorGradient = actor.step(gradients, l.ActorRate, t), squares(gradients) // (26)
	return actor2, critic2, m
}

// State is the parameters of a network and the moments of Adam, in the order of
// Network.Shapes.
type State struct{ Params, M, V []*Node }

func (s State) step(gradients []*Node, rate, t *Node) State {
	p, m, v := Adam(s.Params, s.M, s.V, gradients, rate, t)
	return State{p, m, v}
}

// all lists parameters and moments in the order of Parameters.Donate.
func (s State) all() []*Node { return slices.Concat(s.Params, s.M, s.V) }

// Measures are the losses of an update and the squared norms of their gradients,
// scalars summed over runs.
type Measures struct{ CriticLoss, ActorLoss, CriticGradient, ActorGradient *Node }

func squares(gradients []*Node) *Node {
	sum := ReduceAllSum(Square(gradients[0]))
	for _, g := range gradients[1:] {
		sum = Add(sum, ReduceAllSum(Square(g)))
	}
	return sum
}
