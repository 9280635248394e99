package paper

import (
	"context"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/pgcr"
)

// resampling is a way to draw the contexts of an actor update, and the estimate
// of the probabilities of those that the update sums over.
type resampling struct {
	steps, own int // steps drawn, of M contexts each; the first so many are summed over

	// estimate takes the scores of all contexts, [R, steps*M], and returns the
	// estimates for the own ones, [R, own*M], and what pulls a gradient with
	// respect to them back to all scores.
	estimate func(scores, kappa *Node) (p *Node, pull func(loss *Node) *Node)
}

// perContext is the update from one step as the paper writes it (21), (25): each
// of the M candidates meets its own N draws of M-1 rivals.
func perContext(m, resamples int) resampling {
	rivals := resamples * (m - 1)
	return resampling{1 + rivals, 1, func(scores, kappa *Node) (*Node, func(*Node) *Node) {
		runs := scores.Shape().Dimensions[0]
		others := Reshape(Slice(scores, AxisRange(), AxisRange(m)), runs, rivals, m)
		marginal := pgcr.EstimateMarginal(Slice(scores, AxisRange(), AxisRange(0, m)), others, kappa, resamples)
		return marginal.Probability, func(loss *Node) *Node {
			own, others := marginal.Gradient(loss)
			return Concatenate([]*Node{own, Reshape(others, runs, -1)}, 1)
		}
	}}
}

// minibatch is the update from a batch as the library makes it in a bandit: the
// contexts of the batch are each other's rivals.
func minibatch(m, resamples, batch int) resampling {
	return resampling{batch, batch, func(scores, kappa *Node) (*Node, func(*Node) *Node) {
		p, pull := pgcr.Resampled{N: resamples}.Estimate(scores, nil, kappa, m)
		return p, func(loss *Node) *Node {
			slope, _ := pull(loss)
			return slope
		}
	}}
}

// ownSteps is vanilla policy gradient's update from the same contexts.
func (r resampling) ownSteps(m int) resampling {
	return resampling{r.steps, r.own, func(scores, kappa *Node) (*Node, func(*Node) *Node) {
		own := Slice(scores, AxisRange(), AxisRange(0, r.own*m))
		p, pull := neural.OwnStep{}.Estimate(own, nil, kappa, m)
		return p, func(loss *Node) *Node {
			slope, _ := pull(loss)
			if r.own == r.steps {
				return slope
			}
			return Concatenate([]*Node{slope, ZerosLike(Slice(scores, AxisRange(), AxisRange(r.own*m)))}, 1)
		}
	}}
}

// actorSample says how much the updates of one agent's actor vary at equal
// parameters. Each list has a number an update: its deviation from the mean
// update, squared, or the product of two.
type actorSample struct {
	mean, sd float64   // of the critic's values f
	chosen   float64   // mean of f over the choices of the policy: weighed by p_hat
	pg       []float64 // vanilla policy gradient's update
	variate  []float64 // PGCR's with pgcr.ControlVariate of f

	// PGCR's update with f less its mean, that with f = 1, and their product:
	// they tell the deviation for f with any offset.
	centred, unit, product []float64
}

// at returns PGCR's squared deviations for f less its mean plus an offset.
func (s actorSample) at(offset float64) []float64 {
	out := make([]float64, len(s.centred))
	for i := range out {
		out[i] = s.centred[i] + 2*offset*s.product[i] + offset*offset*s.unit[i]
	}
	return out
}

// What PGCR's update multiplies the gradient by.
func asIs(s actorSample) []float64     { return s.at(s.mean) } // f
func lessMean(s actorSample) []float64 { return s.centred }    // f less its mean over all contexts
func variate(s actorSample) []float64  { return s.variate }    // f less its mean over the batch

// f less its mean over the choices
func lessChosen(s actorSample) []float64 { return s.at(s.mean - s.chosen) }

// actorRatio is the ratio of the variance of PGCR's update to that of vanilla
// policy gradient's, the geometric mean over agents.
func actorRatio(samples []actorSample, of func(actorSample) []float64) Interval {
	ratios := make([]float64, len(samples))
	for a, s := range samples {
		ratios[a] = stat.Mean(of(s), nil) / stat.Mean(s.pg, nil)
	}
	return geometric95(ratios)
}

// actorUpdates makes so many updates of every agent's actor, of PGCR's kind and
// of vanilla policy gradient's from the same contexts.
func (s *subjects) actorUpdates(ctx context.Context, r resampling, kappa float64, count int) ([]actorSample, error) {
	agents, m := s.actor.count, s.spec.Candidates
	// Enough runs in one call to make up for its cost, not too many for the
	// processor's cache.
	copies := min(count, max(1, 16_000/(agents*r.steps*m)))
	exec, err := NewExec(s.backend, func(in []*Node) []*Node { return s.actorGraph(r, in) })
	if err != nil {
		return nil, err
	}
	contexts, err := pgcr.NewContexts(s.backend, agents*copies, r.steps*m, s.spec.Dim, true)
	if err != nil {
		return nil, err
	}
	args := append(s.actor.stacked(copies), s.critic.stacked(copies)...)
	args = append(args, contexts.Columns(), contexts.Rows(), float32(kappa))
	updates := make([][4][]float32, agents) // in the order of actorGraph, [count, size] each
	values, marginals := make([][]float64, agents), make([][]float64, agents)
	for done := 0; done < count; done += copies {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.fill(contexts, copies, r.steps); err != nil {
			return nil, err
		}
		results, err := call[float32](exec, args)
		if err != nil {
			return nil, err
		}
		wanted := min(copies, count-done)
		for a := range agents {
			of := func(result []float32) []float32 {
				size := len(result) / (agents * copies)
				return result[a*copies*size:][:wanted*size]
			}
			for i := range updates[a] {
				updates[a][i] = append(updates[a][i], of(results[i])...)
			}
			for i, f := range of(results[4]) {
				values[a] = append(values[a], float64(f))
				marginals[a] = append(marginals[a], float64(of(results[5])[i]))
			}
		}
	}
	samples := make([]actorSample, agents)
	for a := range samples {
		samples[a] = newActorSample(updates[a], values[a], marginals[a], len(updates[a][0])/count)
	}
	return samples, nil
}

// actorGraph returns the updates of vanilla policy gradient, of PGCR, of PGCR
// with f = 1, and of PGCR with ControlVariate of f, [R, size], then f and p_hat,
// [R, own*M].
func (s *subjects) actorGraph(r resampling, in []*Node) []*Node {
	ka, kc, m := len(s.actor.values), len(s.critic.values), s.spec.Candidates
	columns, rows, kappa := in[ka+kc], in[ka+kc+1], in[ka+kc+2]
	scores := s.actor.network.Forward(in[:ka], columns, nil)
	own := Slice(columns, AxisRange(), AxisRange(), AxisRange(0, r.own*m))
	f := s.critic.network.Forward(in[ka:ka+kc], own, nil).Output
	var out []*Node
	update := func(r resampling, values ...*Node) (p *Node) {
		p, pull := r.estimate(scores.Output, kappa)
		for _, f := range values {
			loss := pgcr.ActorLoss(p, f, r.own)
			out = append(out, flat(scores.Gradient(pull(Gradient(loss, p)[0]), rows)))
		}
		return p
	}
	update(r.ownSteps(m), f)
	p := update(r, f, OnesLike(f), pgcr.ControlVariate(f))
	return append(out, f, p)
}

// fill writes the next steps of the agents' environment into the input, as many
// for each run.
func (s *subjects) fill(contexts *pgcr.Contexts, copies, steps int) error {
	agents, size := s.actor.count, s.spec.Candidates*s.spec.Dim
	idle := make([]int, agents)
	var failed error
	err := edit(contexts, func(w pgcr.ContextWriter) {
		for k := range copies {
			for b := range steps {
				obs := s.env.Observe()
				for a := range agents {
					w.Write(a*copies+k, b*s.spec.Candidates, obs.Contexts[a*size:(a+1)*size])
				}
				if _, failed = s.env.Step(idle); failed != nil {
					return
				}
			}
		}
	})
	if err == nil {
		err = failed
	}
	return err
}

func newActorSample(updates [4][]float32, values, marginals []float64, size int) actorSample {
	s := actorSample{pg: deviations(updates[0], size), unit: deviations(updates[2], size), variate: deviations(updates[3], size)}
	s.mean, s.sd = stat.MeanStdDev(values, nil)
	s.chosen = stat.Mean(values, marginals)
	centred, shifted := make([]float32, len(updates[1])), make([]float32, len(updates[1]))
	for i, u := range updates[1] {
		centred[i] = u - float32(s.mean)*updates[2][i]
		shifted[i] = centred[i] + updates[2][i]
	}
	s.centred, s.product = deviations(centred, size), deviations(shifted, size)
	for i := range s.product { // |x+y|^2 = |x|^2 + 2xy + |y|^2
		s.product[i] = (s.product[i] - s.centred[i] - s.unit[i]) / 2
	}
	return s
}

// OffsetRatio is the ratio of the variances of PGCR's and vanilla policy
// gradient's actor updates when the values f of the critic are moved up or down.
type OffsetRatio struct {
	N      int
	Offset []float64 // mean of f, in its standard deviations
	Ratio  []float64 // geometric mean over agents
}

func offsetRatio(samples []actorSample, n int, offsets []float64) OffsetRatio {
	o := OffsetRatio{N: n, Offset: offsets}
	for _, offset := range offsets {
		ratio := actorRatio(samples, func(s actorSample) []float64 { return s.at(offset * s.sd) })
		o.Ratio = append(o.Ratio, ratio.Mean)
	}
	return o
}

// meanOffset is how far the mean of f is from 0, in its standard deviations, in
// the mean over agents.
func meanOffset(samples []actorSample) float64 {
	var total float64
	for _, s := range samples {
		total += math.Abs(s.mean) / s.sd
	}
	return total / float64(len(samples))
}
