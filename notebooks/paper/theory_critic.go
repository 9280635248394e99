package paper

import (
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/pgcr"
)

// estimator makes both methods' estimates of the marginal probability of
// contexts from their scores, in float64.
type estimator struct {
	m    int
	ns   []int // numbers of draws
	exec *Exec
}

// estimates are one number a context: vanilla policy gradient's nu, from the
// context's own step, and PGCR's p_hat by the number of draws.
type estimates struct {
	nu   []float64
	pHat [][]float64
}

func newEstimator(backend compute.Backend, m int, ns []int) (*estimator, error) {
	exec, err := NewExec(backend, func(in []*Node) []*Node {
		steps, others := in[0], in[1]
		count := others.Shape().Dimensions[2]
		one := Scalar(steps.Graph(), steps.DType(), 1)
		first := func(x *Node) *Node { // of each step
			return Reshape(Slice(Reshape(x, 1, count, m), AxisRange(), AxisRange(), AxisRange(0, 1)), 1, count)
		}
		nu, _ := neural.OwnStep{}.Estimate(steps, nil, one, m)
		out := []*Node{first(nu)}
		for _, n := range ns {
			rivals := Slice(others, AxisRange(), AxisRange(0, n*(m-1)))
			out = append(out, pgcr.EstimateMarginal(first(steps), rivals, one, n).Probability)
		}
		return out
	})
	return &estimator{m, ns, exec}, err
}

// rivals is how many rivals of each context estimate wants.
func (e *estimator) rivals() int { return slices.Max(e.ns) * (e.m - 1) }

// estimate estimates for the first candidate of each step; steps is [count, M],
// the scores, and rivals [e.rivals(), count].
func (e *estimator) estimate(steps, rivals []float64) (estimates, error) {
	results, err := call[float64](e.exec, []any{
		tensors.FromFlatDataAndDimensions(steps, 1, len(steps)),
		tensors.FromFlatDataAndDimensions(rivals, 1, e.rivals(), len(steps)/e.m),
	})
	if err != nil {
		return estimates{}, err
	}
	return estimates{results[0], results[1:]}, nil
}

// given estimates so many times for a context with score own, among fellow
// candidates and rivals that are drawn from c.
func (e *estimator) given(own float64, c catalogue, count int, rng *rand.Rand) (estimates, error) {
	steps, rivals := make([]float64, count*e.m), make([]float64, count*e.rivals())
	c.draw(steps, rng)
	c.draw(rivals, rng)
	for i := 0; i < len(steps); i += e.m {
		steps[i] = own
	}
	return e.estimate(steps, rivals)
}

// chosen estimates for the chosen contexts of an agent's whole history.
func (e *estimator) chosen(h *history, a int, rng *rand.Rand) (estimates, error) {
	steps := h.scoresOf(a, h.steps)
	rivals := make([]float64, h.steps*e.rivals())
	catalogue{steps, e.m}.draw(rivals, rng)
	return e.estimate(steps, rivals)
}

// criticRatios are ratios of the variance of PGCR's critic update (23) to that
// of vanilla policy gradient's (28), at equal parameters: the geometric mean over
// agents, by the number of draws.
type criticRatios struct {
	given []Interval // of a given step: only the rivals are random, as in the lemma's proof
	total []Interval // over the steps, as the algorithms make updates
}

// criticRatios measures the updates of the steps of a history. Given a step,
// its rivals and its fellow candidates are drawn count times from all contexts of
// the history; the variances of the first so many steps are added up.
func (s *subjects) criticRatios(h *history, e *estimator, givenSteps, count int, rng *rand.Rand) (*criticRatios, error) {
	update, err := s.newCriticUpdate(h)
	if err != nil {
		return nil, err
	}
	given, err := update.givenRatios(h, e, givenSteps, count, rng)
	if err != nil {
		return nil, err
	}
	all := estimates{pHat: make([][]float64, len(e.ns))}
	for a := range h.agents {
		est, err := e.chosen(h, a, rng)
		if err != nil {
			return nil, err
		}
		all.nu = append(all.nu, est.nu...)
		for i, p := range est.pHat {
			all.pHat[i] = append(all.pHat[i], p...)
		}
	}
	pg, err := update.variances(all.nu)
	if err != nil {
		return nil, err
	}
	r := &criticRatios{}
	for i := range e.ns {
		total, err := update.variances(all.pHat[i])
		if err != nil {
			return nil, err
		}
		for a := range total {
			total[a] /= pg[a]
		}
		r.given, r.total = append(r.given, geometric95(given[i])), append(r.total, geometric95(total))
	}
	return r, nil
}

// givenRatios returns the ratios of the variances of updates from given steps, by
// the number of draws and by agent.
func (u *criticUpdate) givenRatios(h *history, e *estimator, givenSteps, count int, rng *rand.Rand) ([][]float64, error) {
	// Given the step an update is its probability times a vector: the update of
	// probability 1.
	ones := make([]float64, h.agents*h.steps)
	for i := range ones {
		ones[i] = 1
	}
	unit, err := u.updates(ones)
	if err != nil {
		return nil, err
	}
	ratios := make([][]float64, len(e.ns))
	for a := range h.agents {
		c := catalogue{h.scoresOf(a, h.steps), h.m}
		pg, sum := 0.0, make([]float64, len(e.ns))
		for k := range givenSteps {
			est, err := e.given(c.scores[k*h.m], c, count, rng)
			if err != nil {
				return nil, err
			}
			square := 0.0
			for _, v := range unit[(a*h.steps+k)*u.size:][:u.size] {
				square += float64(v) * float64(v)
			}
			pg += square * stat.Variance(est.nu, nil)
			for i, p := range est.pHat {
				sum[i] += square * stat.Variance(p, nil)
			}
		}
		for i := range ratios {
			ratios[i] = append(ratios[i], sum[i]/pg)
		}
	}
	return ratios, nil
}

// criticUpdate is the update of the critic from the chosen context of each step
// of a history by itself.
type criticUpdate struct {
	agents, size int
	exec         *Exec
	args         []any
}

func (s *subjects) newCriticUpdate(h *history) (*criticUpdate, error) {
	runs, d := h.agents*h.steps, s.spec.Dim
	contexts, err := pgcr.NewContexts(s.backend, runs, 1, d, true)
	if err != nil {
		return nil, err
	}
	err = edit(contexts, func(w pgcr.ContextWriter) {
		for i := range runs {
			w.Write(i, 0, h.contexts[i*h.m*d:][:d])
		}
	})
	if err != nil {
		return nil, err
	}
	u := &criticUpdate{agents: h.agents, args: append(s.critic.stacked(h.steps),
		contexts.Columns(), contexts.Rows(), tensors.FromFlatDataAndDimensions(h.reward, runs, 1))}
	k := len(s.critic.values)
	for _, dims := range s.critic.network.Shapes(1) {
		size := 1
		for _, n := range dims {
			size *= n
		}
		u.size += size
	}
	u.exec, err = NewExec(s.backend, func(in []*Node) []*Node {
		columns, rows, reward, marginal := in[k], in[k+1], in[k+2], in[k+3]
		value := s.critic.network.Forward(in[:k], columns, nil)
		loss := pgcr.CriticLoss(marginal, reward, value.Output)
		return []*Node{flat(value.Gradient(Gradient(loss, value.Output)[0], rows))}
	})
	return u, err
}

// updates returns the updates, [A*T, size], for probabilities of the chosen
// contexts, [A*T].
func (u *criticUpdate) updates(probability []float64) ([]float32, error) {
	p := make([]float32, len(probability))
	for i, v := range probability {
		p[i] = float32(v)
	}
	results, err := call[float32](u.exec, append(slices.Clone(u.args), tensors.FromFlatDataAndDimensions(p, len(p), 1)))
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// variances returns, for every agent, the trace of the updates' covariance over
// the steps.
func (u *criticUpdate) variances(probability []float64) ([]float64, error) {
	updates, err := u.updates(probability)
	if err != nil {
		return nil, err
	}
	var out []float64
	for each := range slices.Chunk(updates, len(updates)/u.agents) {
		out = append(out, stat.Mean(deviations(each, u.size), nil))
	}
	return out, nil
}

// flat lays the gradients of each run side by side, [R, size].
func flat(grads []*Node) *Node {
	rows := make([]*Node, len(grads))
	for i, g := range grads {
		rows[i] = Reshape(g, g.Shape().Dimensions[0], -1)
	}
	return Concatenate(rows, 1)
}

// ChosenContext compares the marginal probability of a context with what the
// critic's update weighs it by in the steps in which it was chosen.
type ChosenContext struct {
	Marginal  float64  // p, exact
	OwnStep   Interval // mean of nu, vanilla policy gradient's weight
	Expected  float64  // of nu, exact: E[nu^2]/E[nu]
	Resampled Interval // mean of p_hat with N = 1, PGCR's weight
}

// chosenContexts draws steps with a given context, so many for each of the
// usual contexts, and keeps those in which the policy chooses it.
func chosenContexts(e *estimator, c catalogue, contexts, count int, rng *rand.Rand) ([]ChosenContext, error) {
	var out []ChosenContext
	scores, _ := c.usual(contexts)
	for _, own := range scores {
		est, err := e.given(own, c, count, rng)
		if err != nil {
			return nil, err
		}
		var nu, pHat []float64
		for i, probability := range est.nu {
			if rng.Float64() < probability {
				nu, pHat = append(nu, probability), append(pHat, est.pHat[0][i])
			}
		}
		if len(nu) < 20 {
			continue // too few for an interval
		}
		p, v := c.exact(own)
		out = append(out, ChosenContext{p, Mean95(nu), p + v/p, Mean95(pHat)})
	}
	return out, nil
}

// HistoryLength says what a short history makes of p_hat: batches are drawn from
// it with replacement, so that a rival can come twice, and be the context itself.
type HistoryLength struct {
	Steps    int
	Bias     Interval  // of p_hat with N = 1 as a share of p, for the most probable context
	Variance []float64 // N*Var[p_hat]/Var[nu] by the number of draws, summed over contexts
}

// historyLength estimates so many times for each of the usual contexts, from
// histories of so many steps that are new each time, by batches that the
// library's replay draws.
func historyLength(e *estimator, c catalogue, steps, batch, contexts, count int, rng *rand.Rand) (HistoryLength, error) {
	replay := newScoreReplay(c.m)
	for range steps {
		replay.add(0, c.scores[:c.m])
	}
	out := HistoryLength{Steps: steps, Variance: make([]float64, len(e.ns))}
	// Of a history only the contexts that rivals are drawn from are made.
	drawn, seen, made := make([]int, batch), make([]float64, steps), make([]int, steps)
	histories := 0
	var most, variance float64
	scores, marginals := c.usual(contexts)
	for k, own := range scores {
		candidates, rivals := make([]float64, count*c.m), make([]float64, e.rivals()*count)
		for i := range count {
			candidates[i*c.m] = own
			histories++
			seen[0], made[0] = own, histories // its own step is one of the history's
			replay.Draw(drawn, 0, rng)
			for j := range e.rivals() {
				step := drawn[1+j]
				if made[step] < histories {
					made[step] = histories
					c.draw(seen[step:step+1], rng)
				}
				rivals[j*count+i] = seen[step]
			}
		}
		est, err := e.estimate(candidates, rivals)
		if err != nil {
			return out, err
		}
		_, v := c.exact(own)
		variance += v
		for i, n := range e.ns {
			out.Variance[i] += float64(n) * stat.Variance(est.pHat[i], nil)
		}
		if p := marginals[k]; p > most {
			most = p
			m := Mean95(est.pHat[0])
			out.Bias = Interval{m.Mean/p - 1, m.Low/p - 1, m.High/p - 1}
		}
	}
	for i := range out.Variance {
		out.Variance[i] /= variance
	}
	return out, nil
}
