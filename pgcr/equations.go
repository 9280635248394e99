package pgcr

import (
	"cmp"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// Absent is the score of a place in a set that has no candidate, since sets have up to M. It leaves
// the place no probability.
const Absent = -1e30

// Probabilities is the policy (13), with Time-Dependent Greed (section 5.2.1), from scores s = log
// mu:
//
//	pi_i = mu_i^kappa / sum_j mu_j^kappa = exp(kappa s_i) / sum_j exp(kappa s_j)
//
// scores is [..., M], as the result is, and kappa a scalar. The largest score is subtracted first,
// so that neither large scores nor a large kappa overflow.
func Probabilities(scores, kappa *Node) *Node {
	largest := StopGradient(ReduceAndKeep(scores, ReduceMax, -1))
	return Softmax(Mul(Sub(scores, largest), kappa), -1)
}

// ResampledProbabilities estimates the marginal probability (14) of contexts: it is (21), the mean
// of (13) over N sets of the context and M-1 others,
//
//	p̂(c) = 1/N sum_n mu(c)^kappa / (mu(c)^kappa + sum_j mu(c_nj)^kappa)
//
// own, [R, B], has the scores of the contexts, and others, [R, N, B, M-1], those of the resampled
// contexts that each of them meets. The result is [R, B].
func ResampledProbabilities(own, others, kappa *Node) *Node {
	d := others.Shape().Dimensions
	own = BroadcastToDims(Reshape(own, d[0], 1, d[2], 1), d[0], d[1], d[2], 1)
	sets := Concatenate([]*Node{own, others}, -1)
	p := Slice(Probabilities(sets, kappa), AxisRange(), AxisRange(), AxisRange(), AxisElem(0))
	return ReduceMean(Reshape(p, d[0], d[1], d[2]), 1)
}

// SarsaTarget is the target of the action value in (22),
//
//	r_t + gamma f(s_{t+1}, c_{(t+1)a})
//
// All are [R, B]; discount is gamma, or 0 after the last step of an episode. In a bandit the target
// is the reward.
func SarsaTarget(reward, discount, nextValue *Node) *Node {
	return StopGradient(Add(reward, Mul(discount, nextValue)))
}

// CriticLoss is the loss whose negative gradient is the critic update (23),
//
//	L(phi) = 1/B sum_r sum_b p̂(c_rba) delta_rb^2 / 2,  delta = target - f_phi(c_rba)
//
// All are [R, B]. weight is p̂ of the chosen contexts, or 1 for the unweighted squared error (17);
// weight and target are held constant. The sum over runs, not the mean, keeps the gradient of each
// run what it would be alone.
func CriticLoss(weight, target, value *Node) *Node {
	delta := Sub(StopGradient(target), value)
	batch := value.Shape().Dimensions[1]
	return DivScalar(ReduceAllSum(Mul(StopGradient(weight), Square(delta))), 2*float64(batch))
}

// ActorLoss is the loss whose negative gradient is the actor update (25), the estimate of (18),
//
//	L(theta) = -1/B sum_r sum_b 1/N sum_n sum_i p_theta(c_rnbi) f(c_rnbi)
//
// over N resampled sets a step of the batch. probabilities is (13) in each set and values is f of
// its contexts, both [R, N, B, M]; values are held constant. In a bandit every context of the batch
// is in N of the sets, and the mean of its probabilities in them is its p̂ (21).
func ActorLoss(probabilities, values *Node) *Node {
	d := probabilities.Shape().Dimensions
	return DivScalar(ReduceAllSum(Mul(probabilities, StopGradient(values))), -float64(d[1]*d[2]))
}

// Adam is the step (24) and (26) by the optimiser of Kingma and Ba (2015), with its defaults
// beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8:
//
//	m <- beta1 m + (1-beta1) g
//	v <- beta2 v + (1-beta2) g^2
//	w <- w - rate m/(1-beta1^t) / (sqrt(v/(1-beta2^t)) + epsilon)
//
// rate and t = 1, 2, ..., which counts the updates, are scalars. It returns the successors.
func Adam(w, m, v, g, rate, t *Node) (w2, m2, v2 *Node) {
	const beta1, beta2, epsilon = 0.9, 0.999, 1e-8
	bias1 := Neg(Expm1(MulScalar(t, math.Log(beta1)))) // 1 - beta1^t
	bias2 := Neg(Expm1(MulScalar(t, math.Log(beta2))))
	m2 = Add(MulScalar(m, beta1), MulScalar(g, 1-beta1))
	v2 = Add(MulScalar(v, beta2), MulScalar(Square(g), 1-beta2))
	step := Div(Div(m2, bias1), AddScalar(Sqrt(Div(v2, bias2)), epsilon))
	return Sub(w, Mul(step, rate)), m2, v2
}

// Greed is the schedule of Time-Dependent Greed (section 5.2.1): at step t the score is
// mu^kappa(t), kappa(t) = clip(Rate*t, Floor, Cap).
//
// The paper's mu^(alpha t) is Greed{Rate: alpha, Floor: NoFloor}. It has no gradient at t = 0,
// where the policy is uniform whatever the scores are; the default floor of 1 starts from the plain
// softmax instead.
type Greed struct {
	Rate  float64 // alpha, an increase a step; default 0: kappa is Floor at all times
	Floor float64 // default 1
	Cap   float64 // default 1e6
}

// NoFloor is the Floor of a schedule that starts at kappa = 0.
const NoFloor = -1

func (g Greed) withDefaults() Greed {
	g.Floor, g.Cap = cmp.Or(g.Floor, 1), cmp.Or(g.Cap, 1e6)
	return g
}

// At returns kappa at step t, the number of steps learned from so far.
func (g Greed) At(t int64) float64 {
	g = g.withDefaults()
	return min(max(g.Rate*float64(t), g.Floor, 0), g.Cap)
}
