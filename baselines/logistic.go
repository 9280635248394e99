package baselines

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// logistic is the penalised maximum likelihood fit of one run, which GLMUCB and
// LogisticThompson share. With μ the sigmoid, θ solves
//
//	Σ (r_s − μ(θ·c_s)) c_s = Ridge·θ
//
// (Filippi et al. 2010, the equation that defines their estimator, with a
// penalty), and so is the only minimum of the convex
//
//	Σ [log(1 + exp(θ·c_s)) − r_s θ·c_s] + Ridge/2 |θ|²
//
// After a refit θ is that minimum, and curvature the Hessian there. Between
// refits a step moves θ to the mode of N(θ, curvature⁻¹) times its likelihood,
// and adds the curvature of its likelihood there: Chapelle and Li (2011,
// algorithm 3), with all covariances.
type logistic struct {
	n             int
	every, memory int
	steps, next   int // steps learned, and the count of them at the next refit

	// The latest steps are kept as they came. What was before them is in
	// θᵀQθ/2 − shift·θ, which starts as the penalty: the second-order expansion
	// of its part of the objective at the estimate of the time.
	contexts  []float32 // [kept, N]
	rewards   []float32 // [kept]
	quadratic []float64 // Q, [N, N]
	shift     []float64 // [N]

	theta     []float64 // [N]
	curvature factor

	// Scratch.
	row, gradient, newton, trial, trialGradient []float64 // [N]
	hessian                                     []float64 // [N, N]
}

// fit is how a logistic model is fitted, and common to the settings of GLMUCB
// and LogisticThompson.
type fit struct {
	ridge         float64
	every, memory int
}

const defaultMemory = 1 << 15

func (f fit) check(algorithm string) error {
	return cmp.Or(
		checkPositive(algorithm, "Ridge", f.ridge, ""),
		checkNotNegative(algorithm, "RefitEvery", f.every),
		checkNotNegative(algorithm, "Memory", f.memory),
	)
}

func newLogistic(n int, f fit) *logistic {
	vector := func() []float64 { return make([]float64, n) }
	l := &logistic{
		n: n, every: f.every, memory: f.memory, next: 1,
		quadratic: make([]float64, n*n),
		shift:     vector(),
		theta:     vector(),
		curvature: newFactor(n, f.ridge),
		row:       vector(), gradient: vector(), newton: vector(), trial: vector(), trialGradient: vector(),
		hessian: make([]float64, n*n),
	}
	for i := range n {
		l.quadratic[i*n+i] = f.ridge
	}
	return l
}

// learn adds one step. It overwrites x.
func (l *logistic) learn(x []float64, reward float64) error {
	for _, v := range x {
		l.contexts = append(l.contexts, float32(v))
	}
	l.rewards = append(l.rewards, float32(reward))
	l.steps++
	l.assimilate(x, reward)
	full := len(l.rewards) >= l.memory
	if l.steps < l.next && !full {
		return nil
	}
	if err := l.refit(); err != nil {
		return err
	}
	l.next = l.steps + cmp.Or(l.every, max(1, l.steps/10))
	if full {
		l.fold((len(l.rewards) + 1) / 2)
	}
	return nil
}

// assimilate is the step between refits. It overwrites x.
func (l *logistic) assimilate(x []float64, reward float64) {
	gain := l.newton
	copy(gain, x)
	l.curvature.solve(gain)
	spread := max(floats.Dot(gain, x), 0)
	predicted := floats.Dot(l.theta, x)
	// The mode is θ + s·gain with s = reward − μ(predicted + s·spread). The
	// right side falls with s and μ is in [0, 1], which brackets the solution;
	// Newton's steps that leave the bracket are replaced by bisection.
	lo, hi := reward-1, reward
	s := reward - sigmoid(predicted)
	for range 60 {
		mu := sigmoid(predicted + s*spread)
		excess := s + mu - reward
		if excess > 0 {
			hi = s
		} else {
			lo = s
		}
		next := s - excess/(1+spread*mu*(1-mu))
		if next < lo || next > hi {
			next = (lo + hi) / 2
		}
		moved := math.Abs(next - s)
		s = next
		if moved <= 1e-12 {
			break
		}
	}
	floats.AddScaled(l.theta, s, gain)
	mu := sigmoid(predicted + s*spread)
	floats.Scale(math.Sqrt(mu*(1-mu)), x)
	l.curvature.rotate(x, nil, 0)
}

// refit moves θ to the minimum by Newton's method and sets the curvature to the
// Hessian there.
//
// A Hessian costs several times a gradient, and that of the step before (or the
// one at hand when the refit starts) is close: it is kept until the steps stop
// shrinking fast.
func (l *logistic) refit() error {
	// The squared Newton decrement gᵀH⁻¹g is the squared distance from the
	// minimum in posterior standard deviations, whatever the scale of the
	// contexts. From 1e-8 deviations, one more step ends in the rounding.
	const (
		converged = 1e-16
		tolerated = 1e-6 // where ill-conditioning stops the descent early
		maxSteps  = 200
	)
	l.slope(l.gradient, l.theta)
	exact, previous := false, math.Inf(1)
	for range maxSteps {
		copy(l.newton, l.gradient)
		l.curvature.solve(l.newton)
		decrement := floats.Dot(l.newton, l.gradient)
		if !exact && (decrement <= converged || decrement > previous/100) {
			if err := l.curve(); err != nil {
				return err
			}
			exact = true
			continue
		}
		if decrement <= converged {
			floats.Sub(l.theta, l.newton)
			return nil
		}
		previous = decrement
		moved := l.descend(decrement, exact)
		if !moved && exact {
			if decrement <= tolerated {
				return nil
			}
			break
		}
		if !moved {
			previous = 0 // asks for the exact Hessian
			continue
		}
		exact = false
	}
	return fmt.Errorf("baselines: logistic fit did not converge after %d steps of the run; raise Ridge or scale the contexts down", l.steps)
}

// descend moves θ against the Newton direction, far enough but not past the
// point where the objective rises again by more than a little, and reports
// whether it did. Only the full step is tried unless halve is set. On a convex
// objective the slopes decide alone; values would be lost in rounding near the
// minimum.
func (l *logistic) descend(decrement float64, halve bool) bool {
	for scale := 1.0; scale > 1e-15; scale /= 2 {
		floats.AddScaledTo(l.trial, l.theta, -scale, l.newton)
		l.slope(l.trialGradient, l.trial)
		if floats.Dot(l.trialGradient, l.newton) >= -0.1*decrement {
			l.theta, l.trial = l.trial, l.theta
			l.gradient, l.trialGradient = l.trialGradient, l.gradient
			return true
		}
		if !halve {
			break
		}
	}
	return false
}

// slope writes the objective's gradient at theta to dst.
func (l *logistic) slope(dst, theta []float64) {
	for i := range dst {
		dst[i] = floats.Dot(l.quadratic[i*l.n:(i+1)*l.n], theta) - l.shift[i]
	}
	for s, reward := range l.rewards {
		x := l.load(s)
		floats.AddScaled(dst, sigmoid(floats.Dot(theta, x))-float64(reward), x)
	}
}

// curve sets the curvature to the objective's Hessian at θ.
func (l *logistic) curve() error {
	copy(l.hessian, l.quadratic)
	for s := range l.rewards {
		x := l.load(s)
		mu := sigmoid(floats.Dot(l.theta, x))
		floats.Scale(math.Sqrt(mu*(1-mu)), x)
		rankOne(l.hessian, x)
	}
	return l.curvature.factorize(l.hessian)
}

// fold moves the oldest steps into the quadratic.
func (l *logistic) fold(steps int) {
	for s := range steps {
		x := l.load(s)
		predicted := floats.Dot(l.theta, x)
		mu := sigmoid(predicted)
		weight := mu * (1 - mu)
		floats.AddScaled(l.shift, weight*predicted+float64(l.rewards[s])-mu, x)
		floats.Scale(math.Sqrt(weight), x)
		rankOne(l.quadratic, x)
	}
	l.contexts = l.contexts[:copy(l.contexts, l.contexts[steps*l.n:])]
	l.rewards = l.rewards[:copy(l.rewards, l.rewards[steps:])]
}

// load returns the features of a kept step, valid until the next call.
func (l *logistic) load(s int) []float64 {
	for i, v := range l.contexts[s*l.n : (s+1)*l.n] {
		l.row[i] = float64(v)
	}
	return l.row
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
