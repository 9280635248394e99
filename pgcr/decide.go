package pgcr

import (
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// decider runs the networks on the candidates of one step, and on as many empty
// columns as fill the vectors of the matrix kernels: the Go backend takes
// leftover columns one by one, several times slower.
type decider struct {
	contexts *Contexts
	mask     *tensors.Tensor // [R, 1, H]
	policy   *Exec           // actor weights, contexts, mask, kappa -> log-probabilities, [R, M]
	value    *Exec           // critic weights, contexts -> action values, [R, M]
}

func (d *decider) init(a *Agent) (err error) {
	runs := a.Runs()
	m := a.spec.Candidates
	if d.contexts, err = NewContexts(a.backend, runs, (m+7)/8*8, a.spec.Dim, false); err != nil {
		return err
	}
	if d.mask, err = NewInput(a.backend, runs, 1, a.actor.Network.MaskUnits()); err != nil {
		return err
	}
	actor, critic := a.actor.Network, a.critic.Network
	d.policy, err = NewExec(a.backend, func(in []*Node) *Node {
		k := len(in) - 3
		scores := actor.Forward(in[:k], in[k], in[k+1]).Output
		return LogProbabilities(Slice(scores, AxisRange(), AxisRange(0, m)), in[k+2])
	})
	if err != nil {
		return err
	}
	d.value, err = NewExec(a.backend, func(in []*Node) *Node {
		k := len(in) - 1
		return Slice(critic.Forward(in[:k], in[k], nil).Output, AxisRange(), AxisRange(0, m))
	})
	return err
}

// logProbabilities evaluates the policy and hands each run's logarithms to use.
// masks names the source of each run's dropout mask; nil drops nothing.
func (d *decider) logProbabilities(a *Agent, obs envs.Observation, masks func(r int) *rand.PCG, use func(r int, logs []float32) error) error {
	if err := d.set(a, obs); err != nil {
		return err
	}
	rate := a.config.Dropout
	if masks == nil {
		rate = 0
	}
	err := EditInputs([]*tensors.Tensor{d.mask}, func(values [][]float32) {
		flat, units := values[0], len(values[0])/a.Runs()
		for r := range a.Runs() {
			var rng *rand.Rand
			if masks != nil {
				rng = rand.New(masks(r))
			}
			DropUnits(flat[r*units:(r+1)*units], rate, rng)
		}
	})
	if err != nil {
		return err
	}
	args := append(a.actor.Weights(), d.contexts.Columns(), d.mask, scalar(a.config.Greed.At(a.steps)))
	return callRows(d.policy, args, a.spec.Candidates, use)
}

func (d *decider) values(a *Agent, obs envs.Observation, dst []float64) error {
	if err := d.set(a, obs); err != nil {
		return err
	}
	m := a.spec.Candidates
	return callRows(d.value, append(a.critic.Weights(), d.contexts.Columns()), m, func(r int, row []float32) error {
		for i, v := range row {
			dst[r*m+i] = float64(v)
		}
		return nil
	})
}

func (d *decider) set(a *Agent, obs envs.Observation) error {
	if err := obs.Finite(); err != nil {
		return err
	}
	per := a.spec.Candidates * a.spec.Dim
	return EditInputs([]*tensors.Tensor{d.contexts.Columns()}, func(values [][]float32) {
		w := d.contexts.Writer(values[0], nil)
		for r := range a.Runs() {
			w.Write(r, 0, obs.Contexts[r*per:(r+1)*per])
		}
	})
}

// callRows calls a graph with one result, [R, width], and hands each row to use.
func callRows(exec *Exec, args []any, width int, use func(r int, row []float32) error) error {
	results, err := exec.Call(args...)
	if err != nil {
		return err
	}
	var inner error
	err = tensors.ConstFlatData(results[0], func(flat []float32) {
		for r := 0; r*width < len(flat) && inner == nil; r++ {
			inner = use(r, flat[r*width:(r+1)*width])
		}
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		return err
	}
	return finalize(results)
}
