package logged

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/contextrec/contextrec/envs"
)

// Model fits the reward of a choice and returns what it predicts for every candidate of a decision.
type Model func(ctx context.Context, log *Log) (predict func(Decision) ([]float64, error), err error)

// CrossFit returns what a model expects of every candidate, [N][m], for Evaluation.Model. Each third of
// the users (decisions, where it has none) has a model of the others: none has seen the reward that it corrects.
func (l *Log) CrossFit(ctx context.Context, model Model) ([][]float64, error) {
	const parts = 3
	if err := l.check(false); err != nil {
		return nil, err
	}
	part, users := make([]int, len(l.Decisions)), 0
	for i, first := range l.sample().units {
		if first == i {
			part[i], users = users%parts, users+1
		}
		part[i] = part[first]
	}
	if users < parts {
		return nil, fmt.Errorf("logged: the log, or a part of it, has %d users (decisions, where it has none), want %d to fit a model to", users, parts)
	}
	q, others := make([][]float64, len(l.Decisions)), *l
	for k := range parts {
		others.Decisions = nil
		for i, d := range l.Decisions {
			if part[i] != k {
				others.Decisions = append(others.Decisions, d)
			}
		}
		predict, err := model(ctx, &others)
		for i, d := range l.Decisions {
			if err == nil && part[i] == k {
				q[i], err = predict(d)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return q, nil
}

// Ridge is linear regression of the reward on the features of the choice, with an intercept: it has
// the least half sum of squared errors + penalty/2 times the sum of squared weights.
func Ridge(penalty float64) Model {
	return linear(penalty, -math.MaxFloat32, math.MaxFloat32, func(score float64) (mean, derivative float64) { return score, 1 })
}

// Logistic is logistic regression, with the penalty of Ridge; rewards not in [0, 1] are an error.
func Logistic(penalty float64) Model {
	return linear(penalty, 0, 1, func(score float64) (mean, derivative float64) {
		p := 1 / (1 + math.Exp(-score))
		return p, p * (1 - p)
	})
}

// linear fits rewards in that range by Newton's method: law turns scores into means and their derivatives.
func linear(penalty float64, least, most float32, law func(score float64) (mean, derivative float64)) Model {
	return func(ctx context.Context, log *Log) (func(Decision) ([]float64, error), error) {
		dim := len(log.Features) + 1
		row := func(context []float32) (row []float64) { // with a 1 for the intercept
			for _, x := range context {
				row = append(row, float64(x))
			}
			return append(row, 1)
		}
		weights, step, before, start, sampling := make([]float64, dim), make([]float64, dim), math.Inf(1), -1.0, log.sample().sampling
		for range 200 {
			next, gradient, hessian := make([]float64, dim), make([]float64, dim), mat.NewSymDense(dim, nil)
			floats.AddTo(next, weights, step)
			for i, d := range log.Decisions {
				if d.Reward < least || d.Reward > most {
					return nil, fmt.Errorf("logged: decision %.200q has the reward %v, and the model wants %v to %v", d.ID, d.Reward, least, most)
				}
				x := row(log.Contexts(d)[d.Chosen*(dim-1):][:dim-1])
				mean, derivative := law(floats.Dot(next, x))
				floats.AddScaled(gradient, sampling[i]*(float64(d.Reward)-mean), x)
				hessian.SymRankOne(hessian, sampling[i]*derivative, mat.NewVecDense(dim, x))
			}
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
				return func(d Decision) ([]float64, error) {
					x, q := log.Contexts(d), make([]float64, log.size(d))
					for c := range q {
						q[c], _ = law(floats.Dot(weights, row(x[c*(dim-1):][:dim-1])))
					}
					return q, nil
				}, nil
			}
		}
		return nil, log.explained(ctx, "the model cannot be fitted", errors.New("features are copies of each other or far too large, or the penalty is too small"))
	}
}

// Values is the model of an algorithm that learns values, such as neural.Greedy, in that many passes.
func Values(algorithm envs.Algorithm, epochs int, seed uint64) Model {
	return func(ctx context.Context, log *Log) (func(Decision) ([]float64, error), error) {
		policy, err := train(ctx, log, algorithm, []uint64{seed}, epochs)
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
			return q[:log.size(d)], err
		}, nil
	}
}
