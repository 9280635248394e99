package pgcr

import (
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/envs"
)

// Improve makes one step of the actor alone, up the gradient of the mean over B sets of
//
//	sum_i p_theta(c_i) g_i
//
// which is (25) with gains in place of the critic's values. It is not in the paper: package logged
// learns from logs with it, where gains are rewards by propensities. With likelihood, log p is in
// place of p, and gains are at least 0.
//
// The runs of sets are the R*B sets, those of run 0 first; gains is [R*B, M]. The rate is ActorRate,
// and kappa is that of the first step.
func (a *Agent) Improve(sets envs.Observation, gains []float32, likelihood bool) error {
	runs, m, b := a.Runs(), a.spec.Candidates, sets.Runs/a.Runs()
	sets.Check(a.spec, runs*b)
	if len(gains) != runs*b*m {
		panic(fmt.Sprintf("pgcr: got %d gains, want %d", len(gains), runs*b*m))
	}
	if err := sets.Finite(); err != nil {
		return err
	}
	if a.improve == nil || a.likelihood != likelihood {
		a.likelihood = likelihood
		a.improve = MustNewExec(a.config.Backend, func(in []*Node) []*Node {
			actor, in := a.actor.Nodes(in)
			contexts, absent, gains, mask, kappa, rate, t := in[0], in[1], in[2], in[3], in[4], in[5], in[6]
			d := absent.Shape().Dimensions
			p := Probabilities(Add(Reshape(actor.Forward(contexts, mask), d...), absent), kappa)
			if likelihood {
				p = Log(AddScalar(p, 1e-30))
			}
			loss := ActorLoss(Reshape(p, d[0], 1, d[1], d[2]), Reshape(gains, d[0], 1, d[1], d[2]))
			actor, squared := actor.Descend(loss, Decayed(rate, a.config.Decay, t), t, OnesLike(ReduceMax(absent, 2)))
			return []*Node{actor.Params, actor.M, actor.V, squared}
		})
	}
	a.updates++
	mask := a.drawMasks(func(s streams) *rand.PCG { return s.BatchMask })
	_, err := Train(a.improve, []*Parameters{a.actor}, Columns(sets.Contexts, runs, b*m, a.spec.Dim), tensor(absent(sets), runs, b, m),
		tensor(gains, runs, b, m), mask, scalar(a.config.Greed.At(0)), scalar(a.config.ActorRate), scalar(float64(a.updates)))
	return err
}
