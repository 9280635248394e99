package pgcr

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// ActorLoss is the surrogate whose negative gradient is the actor update (25)
// of a batch of B steps,
//
//	L(theta) = -1/B sum_r sum_b sum_i p̂_theta(c_rbi) f(c_rbi)
//
// marginal and actionValue are [R, B*M]; actionValue is held constant. The
// gradient is that of p̂ times f, not of log p̂ times f. The sum over runs, not
// the mean, keeps each run's gradient what it would be alone.
func ActorLoss(marginal, actionValue *Node, batch int) *Node {
	return Neg(DivScalar(ReduceAllSum(Mul(marginal, StopGradient(actionValue))), float64(batch)))
}

// actorSlope is the gradient of ActorLoss with respect to marginal, [R, B*M].
// Slopes are written out, because the Go backend cannot loop over graphs with the
// broadcasts that automatic differentiation makes of sums.
func actorSlope(actionValue *Node, batch int) *Node {
	return MulScalar(actionValue, -1/float64(batch))
}

// ControlVariate subtracts from each run's action values, [R, n], their mean
// over the batch. In expectation it leaves the actor update as it is, because
// the mean over contexts of their marginal probability is 1/M whatever theta
// is, and it removes the noise of an offset that all rewards share. It is not in
// the paper.
func ControlVariate(actionValue *Node) *Node {
	return Sub(actionValue, ReduceAndKeep(actionValue, ReduceMean, 1))
}

// SarsaTarget is the target of the action value in (22),
//
//	r_t + gamma f(s_{t+1}, c_{(t+1)a})
//
// All are [R, B]; discount is gamma, or 0 after the last step of an episode.
// In a bandit the target is the reward.
func SarsaTarget(reward, discount, nextValue *Node) *Node {
	return StopGradient(Add(reward, Mul(discount, nextValue)))
}

// CriticLoss is the loss whose negative gradient is the critic update (23),
//
//	L(phi) = 1/B sum_r sum_b p̂(c_rba) delta_rb^2/2,  delta = target - f_phi(c_rba)
//
// All are [R, B]; marginal (that of the chosen context) and target are held
// constant.
func CriticLoss(marginal, target, value *Node) *Node {
	delta := Sub(StopGradient(target), value)
	batch := value.Shape().Dimensions[1]
	return DivScalar(ReduceAllSum(Mul(StopGradient(marginal), Square(delta))), 2*float64(batch))
}

// criticSlope is the gradient of CriticLoss with respect to value, [R, B].
func criticSlope(marginal, target, value *Node) *Node {
	return Mul(marginal, ValueSlope(target, value))
}

// ValueLoss is the unweighted mean squared error (17) of value-based policies,
// halved and summed over runs. target and value are [R, B].
func ValueLoss(target, value *Node) *Node {
	batch := value.Shape().Dimensions[1]
	return DivScalar(ReduceAllSum(Square(Sub(StopGradient(target), value))), 2*float64(batch))
}

// ValueSlope is the gradient of ValueLoss with respect to value, [R, B].
func ValueSlope(target, value *Node) *Node {
	batch := value.Shape().Dimensions[1]
	return MulScalar(Sub(target, value), -1/float64(batch))
}
