package paper

import (
	"fmt"
	"math"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/pgcr"
)

// The functions of this file evaluate the paper's equations on a few numbers,
// for readers who want to follow them by hand. They call the graph functions of
// package pgcr that the algorithm is made of, in float64.

// Probabilities evaluates the policy (13) with Time-Dependent Greed (section
// 5.2.1): the probability of each candidate,
//
//	mu_i^kappa / sum_j mu_j^kappa
//
// mu is [M]. It is an error when a mu is not positive and finite.
func Probabilities(mu []float64, kappa float64) ([]float64, error) {
	scores, err := logs(mu)
	if err != nil {
		return nil, err
	}
	results, err := evaluate(func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Exp(pgcr.LogProbabilities(in[0], in[1]))}
	}, vector(scores), scalar(kappa))
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// MarginalProbability evaluates the estimate (21) of the marginal probability
// of a context,
//
//	1/N sum_n mu^kappa / (mu^kappa + sum_k rivals[n][k]^kappa)
//
// rivals is [N, M-1], the mu of the competitors in each draw; it panics when
// the draws differ in length or there is none. It is an error when a mu is not
// positive and finite.
func MarginalProbability(mu float64, rivals [][]float64, kappa float64) (float64, error) {
	own, err := logs([]float64{mu})
	if err != nil {
		return 0, err
	}
	others, err := logs(flatten("rivals", rivals))
	if err != nil {
		return 0, err
	}
	results, err := evaluate(func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{pgcr.EstimateMarginal(in[0], in[1], in[2], len(rivals)).Probability}
	}, tensors.FromFlatDataAndDimensions(own, 1, 1), tensors.FromFlatDataAndDimensions(others, 1, len(others), 1), scalar(kappa))
	if err != nil {
		return 0, err
	}
	return results[0][0], nil
}

// ActorUpdate evaluates the actor update (25), averaged over a batch, with
// respect to the scores s = log mu: where
//
//	1/B sum_b sum_i p̂(c_bi) value_bi
//
// grows fastest, the values being held constant. The network carries it on to
// its weights by the chain rule. mu, value and the result are [B, M]; the
// rivals of a context are those of its batch ([pgcr.BatchRivals]): at N = 1,
// candidate i of step b meets the M-1 contexts that follow in the order of the
// steps after its own, beginning with candidate i of the next step and round
// the end of the batch.
//
// It panics when the shapes differ. It is an error when a mu is not positive and
// finite, and when the batch is too small for N resamplings.
func ActorUpdate(mu, value [][]float64, resamples int, kappa float64) ([][]float64, error) {
	flatMu, flatValue := flatten("mu", mu), flatten("value", value)
	batch, candidates := len(mu), len(mu[0])
	if len(value) != batch || len(value[0]) != candidates {
		panic(fmt.Sprintf("paper: %d x %d values for %d x %d scores", len(value), len(value[0]), batch, candidates))
	}
	estimator := pgcr.Resampled{N: resamples}
	if err := estimator.Check(batch, candidates); err != nil {
		return nil, err
	}
	scores, err := logs(flatMu)
	if err != nil {
		return nil, err
	}
	results, err := evaluate(func(in []*graph.Node) []*graph.Node {
		marginal, pull := estimator.Estimate(in[0], nil, in[2], candidates)
		loss := pgcr.ActorLoss(marginal, in[1], batch)
		gradient, _ := pull(graph.Gradient(loss, marginal)[0])
		return []*graph.Node{graph.Neg(gradient)}
	}, vector(scores), vector(flatValue), scalar(kappa))
	if err != nil {
		return nil, err
	}
	return fold(results[0], candidates), nil
}

// CriticUpdate evaluates the critic update (23), averaged over a batch, as the
// factor of the gradient of each f(c):
//
//	1/B p̂_b delta_b,  delta_b = reward_b - value_b
//
// which is that of a bandit, where (22) has no next step. All are [B]; it panics
// when the lengths differ.
func CriticUpdate(marginal, reward, value []float64) ([]float64, error) {
	if len(reward) != len(marginal) || len(value) != len(marginal) {
		panic(fmt.Sprintf("paper: %d marginals, %d rewards and %d values", len(marginal), len(reward), len(value)))
	}
	none := vector(make([]float64, len(marginal)))
	results, err := evaluate(func(in []*graph.Node) []*graph.Node {
		loss := pgcr.CriticLoss(in[0], pgcr.SarsaTarget(in[1], in[3], in[3]), in[2])
		return []*graph.Node{graph.Neg(graph.Gradient(loss, in[2])[0])}
	}, vector(marginal), vector(reward), vector(value), none)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// TemporalDifferences evaluates (22) with Sarsa's target,
//
//	delta = reward + discount*next - value
//
// next being the value of the context that was chosen at the next step of the
// session. All are [B]; it panics when the lengths differ.
func TemporalDifferences(reward, discount, next, value []float64) ([]float64, error) {
	if len(discount) != len(reward) || len(next) != len(reward) || len(value) != len(reward) {
		panic(fmt.Sprintf("paper: %d rewards, %d discounts, %d next values and %d values", len(reward), len(discount), len(next), len(value)))
	}
	results, err := evaluate(func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Sub(pgcr.SarsaTarget(in[0], in[1], in[2]), in[3])}
	}, vector(reward), vector(discount), vector(next), vector(value))
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// Centred evaluates [pgcr.ControlVariate]: the values of a batch, [B, M], less
// their mean.
func Centred(value [][]float64) ([][]float64, error) {
	results, err := evaluate(func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{pgcr.ControlVariate(in[0])}
	}, vector(flatten("value", value)))
	if err != nil {
		return nil, err
	}
	return fold(results[0], len(value[0])), nil
}

var equationBackend = sync.OnceValues(compute.New)

// evaluate runs a graph and returns the values of its results.
func evaluate(f func(in []*graph.Node) []*graph.Node, inputs ...*tensors.Tensor) ([][]float64, error) {
	backend, err := equationBackend()
	if err != nil {
		return nil, err
	}
	exec, err := graph.NewExec(backend, f)
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
	}
	results, err := exec.Call(args...)
	if err != nil {
		return nil, err
	}
	values := make([][]float64, len(results))
	for i, r := range results {
		if values[i], err = tensors.CopyFlatData[float64](r); err != nil {
			return nil, err
		}
		for k := range values[i] {
			values[i][k] += 0 // a negated zero prints with its sign
		}
	}
	return values, nil
}

// vector is an input of one run, [1, n].
func vector(v []float64) *tensors.Tensor { return tensors.FromFlatDataAndDimensions(v, 1, len(v)) }

func scalar(v float64) *tensors.Tensor { return tensors.FromScalarAndDimensions(v) }

// logs are the scores log mu.
func logs(mu []float64) ([]float64, error) {
	out := make([]float64, len(mu))
	for i, m := range mu {
		if !(m > 0) || math.IsInf(m, 1) {
			return nil, fmt.Errorf("paper: mu is %v, must be positive and finite", m)
		}
		out[i] = math.Log(m)
	}
	return out, nil
}

func flatten(name string, rows [][]float64) []float64 {
	if len(rows) == 0 || len(rows[0]) == 0 {
		panic(fmt.Sprintf("paper: %s is empty", name))
	}
	var flat []float64
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			panic(fmt.Sprintf("paper: row %d of %s has %d values, row 0 has %d", i, name, len(row), len(rows[0])))
		}
		flat = append(flat, row...)
	}
	return flat
}

func fold(flat []float64, width int) [][]float64 {
	var rows [][]float64
	for ; len(flat) > 0; flat = flat[width:] {
		rows = append(rows, flat[:width:width])
	}
	return rows
}
