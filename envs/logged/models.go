package logged

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/contextrec/contextrec/envs"
)

// Model fits the reward of a choice and returns what it predicts for every candidate of a decision.
type Model func(ctx context.Context, log *Log) (predict func(Decision) ([]float64, error), err error)

// CrossFit returns what a model expects of every candidate, [N][m], for Evaluation.Model. The users
// (decisions, where the log has no users) are dealt into three parts, and each part is predicted by a
// model of the two others: no prediction has seen the reward that it corrects.
func (l *Log) CrossFit(ctx context.Context, model Model) ([][]float64, error) {
	const parts = 3
	if err := l.check(false); err != nil {
		return nil, err
	}
	part, users := make([]int, len(l.Decisions)), 0
	for i, first := range l.units() {
		if first == i {
			part[i] = users % parts
			users++
		}
		part[i] = part[first]
	}
	if users < parts {
		return nil, fmt.Errorf("logged: %d users, want %d to fit a model to", users, parts)
	}
	q := make([][]float64, len(l.Decisions))
	for k := range parts {
		others, own := *l, *l
		others.Decisions, own.Decisions = nil, nil
		for i, d := range l.Decisions {
			if part[i] == k {
				own.Decisions = append(own.Decisions, d)
			} else {
				others.Decisions = append(others.Decisions, d)
			}
		}
		predicted, err := own.predicted(ctx, model, &others)
		if err != nil {
			return nil, err
		}
		for i := range q {
			if part[i] == k {
				q[i], predicted = predicted[0], predicted[1:]
			}
		}
	}
	return q, nil
}

// predicted is what a model of another log expects of every candidate.
func (l *Log) predicted(ctx context.Context, model Model, from *Log) (q [][]float64, err error) {
	predict, err := model(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, d := range l.Decisions {
		x, err := predict(d)
		if err != nil {
			return nil, l.failed(d, err)
		}
		q = append(q, x)
	}
	return q, nil
}

// Ridge is linear regression of the reward on the features of the choice, with an intercept: it has
// the least half sum of squared errors + penalty/2 times the sum of squared weights.
func Ridge(penalty float64) Model {
	return linear(penalty, false, func(s []float64) (means, variances []float64) { return s, ones(s) })
}

// Logistic is logistic regression, for rewards from 0 to 1, with the penalty of Ridge.
func Logistic(penalty float64) Model {
	return linear(penalty, false, func(s []float64) (means, variances []float64) {
		for _, x := range s {
			p := 1 / (1 + math.Exp(-x))
			means, variances = append(means, p), append(variances, p*(1-p))
		}
		return means, variances
	})
}

// Choice predicts not the reward but the probability with which the log chooses each candidate, by a
// softmax of linear scores (McFadden 1974), for Log.EstimatePropensities.
func Choice(penalty float64) Model {
	return linear(penalty, true, func(s []float64) (means, variances []float64) {
		total := floats.LogSumExp(s)
		for _, x := range s {
			means = append(means, math.Exp(x-total))
		}
		return means, means
	})
}

// linear is a model with linear scores: of the reward of the choice alone or, for choices, of whether
// each candidate of a set is the choice. law turns scores into means and their derivatives.
func linear(penalty float64, choices bool, law func(scores []float64) (means, derivatives []float64)) Model {
	return func(ctx context.Context, log *Log) (func(Decision) ([]float64, error), error) {
		dim := len(log.Features)
		at := func(weights []float64, d Decision) (x [][]float64, means, derivatives []float64) {
			scores := make([]float64, len(d.Contexts)/dim)
			for c := range scores {
				row := make([]float64, dim+1)
				for j, xj := range d.Contexts[c*dim:][:dim] {
					row[j] = float64(xj)
				}
				row[dim], x = 1, append(x, row)
				scores[c] = floats.Dot(weights, row)
			}
			means, derivatives = law(scores)
			return x, means, derivatives
		}
		weights, err := newton(ctx, dim+1, penalty, func(weights, gradient []float64, curve func(x []float64, w float64)) {
			for _, d := range log.Decisions {
				target := float64(d.Reward)
				if !choices {
					d.Contexts, d.Chosen = d.Contexts[d.Chosen*dim:][:dim], 0
				} else {
					target = 1
				}
				x, means, derivatives := at(weights, d)
				mean := make([]float64, dim+1)
				for c := range x {
					floats.AddScaled(mean, means[c], x[c])
					curve(x[c], derivatives[c])
				}
				if choices {
					curve(mean, -1)
				}
				floats.AddScaled(gradient, target, x[d.Chosen])
				floats.Sub(gradient, mean)
			}
		})
		return func(d Decision) ([]float64, error) {
			_, means, _ := at(weights, d)
			return means, nil
		}, err
	}
}

// EstimatePropensities returns the log with propensities that a model of its choices predicts, cross
// fitted, at least 1e-3. Estimates from it hold as far as that model is true, and Diagnose says so.
func (l *Log) EstimatePropensities(ctx context.Context, choice Model) (*Log, error) {
	p, err := l.CrossFit(ctx, choice)
	if err != nil {
		return nil, err
	}
	estimated := *l
	estimated.Estimated, estimated.Decisions = true, slices.Clone(l.Decisions)
	for i := range estimated.Decisions {
		d := &estimated.Decisions[i]
		d.Propensity = min(max(p[i][d.Chosen], 1e-3), 1)
	}
	return &estimated, nil
}

// Values is the model of an algorithm that learns values, such as neural.Greedy: its policy learns
// every decision that many times.
func Values(algorithm envs.Algorithm, epochs int, seed uint64) Model {
	return func(ctx context.Context, log *Log) (func(Decision) ([]float64, error), error) {
		repeated := *log
		repeated.Decisions = slices.Repeat(log.Decisions, epochs)
		policy, err := Train(ctx, &repeated, algorithm, []uint64{seed})
		if err != nil {
			return nil, err
		}
		values, ok := policy.(interface {
			Values([]float64, envs.Observation) error
		})
		if !ok {
			return nil, fmt.Errorf("logged: a %T has no Values", policy)
		}
		return func(d Decision) ([]float64, error) {
			q := make([]float64, log.Candidates)
			err := values.Values(q, log.step(d, 1).Observation)
			return q[:len(d.Contexts)/len(log.Features)], err
		}, nil
	}
}

// newton returns the weights with the largest fit less penalty/2 times their squared norm. at adds the
// gradient of the fit, and calls curve with w and x for every w x xᵀ of its negative Hessian.
func newton(ctx context.Context, dim int, penalty float64, at func(weights, gradient []float64, curve func(x []float64, w float64))) ([]float64, error) {
	weights, step, before, start := make([]float64, dim), make([]float64, dim), math.Inf(1), -1.0
	for range 200 {
		next, gradient, hessian := make([]float64, dim), make([]float64, dim), mat.NewSymDense(dim, nil)
		floats.AddTo(next, weights, step)
		at(next, gradient, func(x []float64, w float64) {
			for i, xi := range x {
				for j := i; xi != 0 && j < dim; j++ {
					hessian.SetSym(i, j, hessian.At(i, j)+w*xi*x[j])
				}
			}
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		floats.AddScaled(gradient, -penalty, next)
		if !(floats.Dot(gradient, step) >= -before/10) { // the fit falls here: too far
			floats.Scale(0.5, step)
			continue
		}
		for i := range dim {
			hessian.SetSym(i, i, hessian.At(i, i)+penalty)
		}
		var factor mat.Cholesky
		if !factor.Factorize(hessian) || factor.SolveVecTo(mat.NewVecDense(dim, step), mat.NewVecDense(dim, gradient)) != nil {
			break
		}
		weights, before = next, floats.Dot(gradient, step)
		if start < 0 {
			start = before
		}
		if before <= 1e-16*start {
			return weights, nil
		}
	}
	return nil, errors.New("logged: the model cannot be fitted: features are copies of each other or far too large, or the penalty is too small")
}
