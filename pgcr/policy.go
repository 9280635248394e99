package pgcr

import (
	"cmp"

	. "github.com/gomlx/gomlx/core/graph"
)

// maxLogOdds bounds kappa*(s_other - s_own) from above, so that its exponential
// stays finite in float32. A probability of e^-80 is zero for every purpose.
const maxLogOdds = 80

// Greed is the schedule of Time-Dependent Greed (section 5.2.1): the score of
// step t is mu^kappa(t), that is kappa(t)*log mu in logs, with
//
//	kappa(t) = clip(Rate*t, Floor, Cap)
//
// The paper's mu^(alpha*t) is Greed{Rate: alpha, Floor: NoFloor}. It has no
// gradient at t = 0, where the policy is uniform whatever the scores are;
// the default floor of 1 starts from the plain softmax instead.
type Greed struct {
	Rate  float64 // alpha, an increase a step; default 0: kappa is Floor at all times
	Floor float64 // default 1
	Cap   float64 // default 1e6
}

// NoFloor is the Floor of a schedule that starts at kappa = 0.
const NoFloor = -1

func (g Greed) withDefaults() Greed {
	g.Floor = cmp.Or(g.Floor, 1)
	g.Cap = cmp.Or(g.Cap, 1e6)
	return g
}

// At returns kappa at step t, the number of steps learned from so far.
func (g Greed) At(t int64) float64 {
	g = g.withDefaults()
	return min(max(g.Rate*float64(t), g.Floor, 0), g.Cap)
}

// LogProbabilities is the logarithm of the policy (13), with Time-Dependent
// Greed, from scores s = log mu:
//
//	log pi_i = kappa*s_i - log sum_j exp(kappa*s_j)
//
// scores is [..., M] and kappa a scalar; the result has the shape of scores.
// The largest score is subtracted before the multiplication, so that neither
// large scores nor a large kappa overflow, and nothing but differences counts.
func LogProbabilities(scores, kappa *Node) *Node {
	top := StopGradient(ReduceAndKeep(scores, ReduceMax, -1))
	scaled := Mul(Sub(scores, top), kappa)
	return Sub(scaled, Log(ReduceAndKeep(Exp(scaled), ReduceSum, -1)))
}

// A Marginal is an estimate of the marginal probability (14) of contexts,
//
//	p̂(c) = 1/N sum_n mu(c)^kappa / (mu(c)^kappa + sum_k mu(c_nk)^kappa)
//	     = 1/N sum_n 1 / (1 + sum_k exp(kappa*(s_nk - s)))
//
// which is equation (21) in logs, together with what its gradient needs.
type Marginal struct {
	Probability *Node // p̂, [R, n]

	kappa            *Node
	odds             *Node // exp(kappa*(s_nk - s)), [R, N*K, n]
	against, perDraw *Node // sum of odds over k, and the estimate from draw n alone; [R, N, n]
	resamples        int
}

// EstimateMarginal estimates the marginal probability of n contexts a run.
// own is [R, n], their scores; others is [R, N*K, n], the scores of the K = M-1
// competitors of each of the N draws, draw by draw; kappa is a scalar.
func EstimateMarginal(own, others, kappa *Node, resamples int) Marginal {
	rival := others.Shape().Dimensions[1]
	logOdds := Mul(Sub(others, repeatRows(own, rival)), kappa)
	m := Marginal{kappa: kappa, resamples: resamples}
	m.odds = Exp(MinScalar(logOdds, maxLogOdds))
	m.against = sumDraws(m.odds, resamples)
	m.perDraw = Inverse(OnePlus(m.against))
	if resamples == 1 {
		m.Probability = Reshape(m.perDraw, own.Shape().Dimensions...)
	} else {
		m.Probability = ReduceMean(m.perDraw, 1)
	}
	return m
}

// Gradient pulls the gradient of a loss with respect to p̂, [R, n], back to the
// scores. It returns the gradients with respect to own, [R, n], and others,
// [R, N*K, n], written out from
//
//	dp/ds   =  kappa*p*(1-p)                  with p = 1/(1 + sum_k o_k)
//	dp/ds_k = -kappa*p*p*o_k                  and o_k = exp(kappa*(s_k - s))
//
// of each draw. They sum to zero: adding a constant to all scores changes
// nothing.
func (m Marginal) Gradient(loss *Node) (own, others *Node) {
	dims := m.odds.Shape().Dimensions
	slope := Mul(DivScalar(loss, float64(m.resamples)), m.kappa)
	c := Mul(Mul(m.perDraw, m.perDraw), repeatRows(slope, m.resamples)) // [R, N, n]
	own = Mul(c, m.against)
	if m.resamples == 1 {
		own = Reshape(own, dims[0], dims[2])
		others = Mul(m.odds, repeatRows(Reshape(c, dims[0], dims[2]), dims[1]))
	} else {
		own = ReduceSum(own, 1)
		others = Mul(m.odds, spreadDraws(c, m.odds))
	}
	return own, Neg(others)
}

// sumDraws sums the rivals of each draw: [R, N*K, n] becomes [R, N, n].
func sumDraws(odds *Node, resamples int) *Node {
	if !fuses(odds) {
		return matMul(groups(odds, resamples), odds)
	}
	dims := odds.Shape().Dimensions
	return ReduceSum(Reshape(odds, dims[0], resamples, dims[1]/resamples, dims[2]), 2)
}

// spreadDraws repeats each draw for its rivals: [R, N, n] becomes the shape of
// odds, [R, N*K, n].
func spreadDraws(c, odds *Node) *Node {
	runs, resamples, n := c.Shape().Dimensions[0], c.Shape().Dimensions[1], c.Shape().Dimensions[2]
	if !fuses(odds) {
		return matMul(Transpose(groups(odds, resamples), 1, 2), c)
	}
	rivals := odds.Shape().Dimensions[1]
	wide := BroadcastToDims(Reshape(c, runs, resamples, 1, n), runs, resamples, rivals/resamples, n)
	return Reshape(wide, runs, rivals, n)
}

// groups is the constant [R, N, N*K] that sums the K rivals of each draw:
// 1 where rival j belongs to draw n.
func groups(odds *Node, resamples int) *Node {
	runs, rivals := odds.Shape().Dimensions[0], odds.Shape().Dimensions[1]
	flat := make([]float64, 0, resamples*rivals)
	for n := range resamples {
		for j := range rivals {
			if j/(rivals/resamples) == n {
				flat = append(flat, 1)
			} else {
				flat = append(flat, 0)
			}
		}
	}
	one := Reshape(ConvertDType(Const(odds.Graph(), flat), odds.DType()), 1, resamples, rivals)
	return BroadcastToDims(one, runs, resamples, rivals)
}

// repeatRows turns [R, n] into [R, times, n], or what is broadcast to it.
// Concatenation is the cheapest broadcast on the Go backend.
func repeatRows(x *Node, times int) *Node {
	dims := x.Shape().Dimensions
	row := Reshape(x, dims[0], 1, dims[1])
	if times == 1 || fuses(x) {
		return row
	}
	rows := make([]*Node, times)
	for i := range rows {
		rows[i] = row
	}
	return Concatenate(rows, 1)
}

// BatchRivals pairs every context of a batch with competitors from the other
// steps of the same batch, which is a uniform draw from all contexts seen so
// far (section 3.2) as long as the batch is one and the candidates of each of
// its steps stand in random order.
//
// scores is [R, B*M], step by step. Rival j = 1 ... count of a context has the
// same place j steps further in the batch, cyclically, so with count < B all
// come from different places of the batch and none from the context's own. A
// batch that was drawn with replacement may hold one step at several places: as
// long as the history is short, a context then meets itself, which pulls its
// estimate towards 1/M.
//
// own is scores followed by its first M values once more, [R, B*M+M]; others is
// [R, count, B*M+M]. The repeated columns come from the layout: all the rolled
// copies are one periodic sequence, cut into rows that are M too long. Whoever
// differentiates gives them weight zero.
func BatchRivals(scores *Node, candidates, count int) (own, others *Node) {
	runs, n := scores.Shape().Dimensions[0], scores.Shape().Dimensions[1]
	width := n + candidates
	own = Concatenate([]*Node{scores, Slice(scores, AxisRange(), AxisRange(0, candidates))}, 1)
	pieces := []*Node{Slice(scores, AxisRange(), AxisRange(candidates))}
	length := n - candidates
	for ; length+n <= count*width; length += n {
		pieces = append(pieces, scores)
	}
	if rest := count*width - length; rest > 0 {
		pieces = append(pieces, Slice(scores, AxisRange(), AxisRange(0, rest)))
	}
	return own, Reshape(Concatenate(pieces, 1), runs, count, width)
}

// BatchRivalsGradient pulls gradients with respect to the results of
// BatchRivals, [R, B*M+M] and [R, count, B*M+M], back to its scores, [R, B*M].
func BatchRivalsGradient(own, others *Node, candidates int) *Node {
	runs, width := own.Shape().Dimensions[0], own.Shape().Dimensions[1]
	n := width - candidates
	length := (others.Shape().Dimensions[1] + 1) * width
	flat := []*Node{own, Reshape(others, runs, length-width)}
	rows := (length + n - 1) / n
	if rest := rows*n - length; rest > 0 {
		flat = append(flat, Zeros(own.Graph(), makeShape(own, runs, rest)))
	}
	periods := Reshape(Concatenate(flat, 1), runs, rows, n)
	return Reshape(matMul(Ones(own.Graph(), makeShape(own, runs, 1, rows)), periods), runs, n)
}

// rolls is what BatchRivals pairs each context with, in place of its scheme for
// the Go backend: row j = 1 ... count of the result, [R, count, B*M], is scores
// moved on by j steps.
func rolls(scores *Node, candidates, count int) *Node {
	runs, n := scores.Shape().Dimensions[0], scores.Shape().Dimensions[1]
	twice := Concatenate([]*Node{scores, Slice(scores, AxisRange(), AxisRange(0, count*candidates))}, 1)
	rows := make([]*Node, count)
	for j := range rows {
		from := (j + 1) * candidates
		rows[j] = Reshape(Slice(twice, AxisRange(), AxisRange(from, from+n)), runs, 1, n)
	}
	return Concatenate(rows, 1)
}

// rollsGradient pulls a gradient with respect to rolls, [R, count, B*M], back to
// the scores, [R, B*M].
func rollsGradient(others *Node, candidates int) *Node {
	runs, count, n := others.Shape().Dimensions[0], others.Shape().Dimensions[1], others.Shape().Dimensions[2]
	var sum *Node
	for j := range count {
		row := Reshape(Slice(others, AxisRange(), AxisRange(j, j+1)), runs, n)
		cut := n - (j+1)*candidates
		back := Concatenate([]*Node{Slice(row, AxisRange(), AxisRange(cut)), Slice(row, AxisRange(), AxisRange(0, cut))}, 1)
		if sum == nil {
			sum = back
		} else {
			sum = Add(sum, back)
		}
	}
	return sum
}
