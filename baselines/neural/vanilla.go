package neural

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// VanillaPG is the policy gradient that the paper compares PGCR with (section
// 5.3): the same actor, critic and replay, but updated by (28) and (29), in which
// the probability of a context among the candidates of its own step, see
// StepProbabilities, stands in place of the marginal.
//
// The settings are those of pgcr.Config of the same name. Resamples and
// ControlVariate are missing because they would change nothing: there is
// nothing to resample, and since the probabilities of a step sum to 1, whatever
// they are, a constant that is subtracted from the values of its candidates
// drops out of the gradient.
type VanillaPG struct {
	Hidden      []int      // units of the hidden layers of actor and critic; default 10
	ActorRate   float64    // Adam's learning rate of the actor; default 0.01
	CriticRate  float64    // Adam's learning rate of the critic; default 0.01
	BatchSize   int        // B, history steps an update; default 64
	UpdateEvery int        // environment steps an update; default 1
	Greed       pgcr.Greed // Time-Dependent Greed; the default is off: kappa = 1
	Dropout     float64    // Actor-Dropout, in [0, 1); default 0
	Discount    float64    // gamma, in [0, 1]; default 0, a bandit

	// Backend runs the graphs; default: compute.New(), which the importer of a
	// backend chooses. On the Go backend it must be pgcr.SequentialGo, or at
	// least have the option ops_sequential.
	Backend compute.Backend `json:"-"`
}

func (a VanillaPG) withDefaults() VanillaPG {
	if a.Hidden == nil {
		a.Hidden = []int{10}
	}
	a.ActorRate = cmp.Or(a.ActorRate, 0.01)
	a.CriticRate = cmp.Or(a.CriticRate, 0.01)
	a.BatchSize = cmp.Or(a.BatchSize, 64)
	a.UpdateEvery = cmp.Or(a.UpdateEvery, 1)
	a.Greed.Floor = cmp.Or(a.Greed.Floor, 1)
	a.Greed.Cap = cmp.Or(a.Greed.Cap, 1e6)
	return a
}

// New implements envs.Algorithm; the policy is a *pgcr.Agent. It returns an error
// that names the field when a setting is out of bounds, and when there is no seed.
func (a VanillaPG) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	if err := checkProblem("VanillaPG", spec, seeds); err != nil {
		return nil, err
	}
	agent, err := pgcr.Config{
		Hidden: a.Hidden, ActorRate: a.ActorRate, CriticRate: a.CriticRate, BatchSize: a.BatchSize, UpdateEvery: a.UpdateEvery,
		Greed: a.Greed, Dropout: a.Dropout, Discount: a.Discount, Backend: a.Backend,
	}.NewAgent(spec, seeds, OwnStep{})
	if err != nil {
		return nil, fmt.Errorf("neural: VanillaPG: %w", err)
	}
	return agent, nil
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (a VanillaPG) MarshalJSON() ([]byte, error) {
	type plain VanillaPG
	return json.Marshal(plain(a.withDefaults()))
}

// OwnStep is the pgcr.Estimator of vanilla policy gradients: the rivals of a
// context are the other candidates of its own step.
type OwnStep struct{}

// Rivals returns 0: no context of another step is needed.
func (OwnStep) Rivals(candidates int) int { return 0 }

// Check returns nil: any batch will do.
func (OwnStep) Check(batch, candidates int) error { return nil }

// Estimate returns StepProbabilities and its gradient. rivals is not used.
func (OwnStep) Estimate(scores, rivals, kappa *Node, candidates int) (*Node, func(loss *Node) (*Node, *Node)) {
	nu := StepProbabilities(scores, kappa, candidates)
	return nu, func(loss *Node) (*Node, *Node) {
		return StepProbabilitiesGradient(nu, loss, kappa, candidates), nil
	}
}

// StepProbabilities is the probability nu of (27) with which each candidate of a
// step is chosen from the step's own candidates, by the policy (13) with scores
// s = log mu,
//
//	nu_i = mu_i^kappa / sum_j mu_j^kappa = exp(kappa*s_i) / sum_j exp(kappa*s_j)
//
// scores is [R, B*M], step by step, and kappa a scalar; the result has the shape
// of scores.
func StepProbabilities(scores, kappa *Node, candidates int) *Node {
	return Reshape(Exp(pgcr.LogProbabilities(bySteps(scores, candidates), kappa)), scores.Shape().Dimensions...)
}

// StepProbabilitiesGradient pulls the gradient of a loss with respect to the
// probabilities nu, [R, B*M], back to their scores, [R, B*M]:
//
//	dL/ds_i = kappa*nu_i*(dL/dnu_i - sum_j nu_j dL/dnu_j)
func StepProbabilitiesGradient(nu, loss, kappa *Node, candidates int) *Node {
	p, g := bySteps(nu, candidates), bySteps(loss, candidates)
	mean := ReduceAndKeep(Mul(p, g), ReduceSum, -1)
	return Reshape(Mul(Mul(p, Sub(g, mean)), kappa), nu.Shape().Dimensions...)
}

// bySteps turns [R, B*M] into [R, B, M].
func bySteps(x *Node, candidates int) *Node {
	return Reshape(x, x.Shape().Dimensions[0], -1, candidates)
}
