package baselines

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// logistic is the penalised maximum likelihood fit of one run, which GLMUCB and LogisticThompson
// share. GLMUCB's equation of θ, that of Filippi et al. with a penalty, says that θ is the only
// minimum of the convex
//
//	Σ [log(1 + exp(θ·c_s)) − r_s θ·c_s] + Ridge/2 |θ|²
//
// After a refit θ is that minimum, and the curvature is the Hessian there. Between refits a step
// moves θ to the mode of N(θ, curvature⁻¹) times its likelihood, and adds the curvature of its
// likelihood there: Chapelle and Li (2011, algorithm 3), with all covariances.
type logistic struct {
	n, every, memory int
	scale            float64 // of LogisticThompson's draws
	Next             int     // the step of the next refit

	// The latest steps are kept as they came. What was before them is in θᵀQθ/2 − shift·θ, which
	// starts as the penalty: the second-order expansion of its part of the objective at the
	// estimate of the time.
	Contexts  []float64 // [kept, N]
	Rewards   []float64 // [kept]
	Quadratic []float64 // Q, [N, N]
	Shift     []float64 // [N]

	Theta     []float64 // [N]
	Curvature factor

	gradient, solved, next []float64 // scratch, [N]
}

const defaultMemory = 1 << 15

func checkFit(ridge float64, every, memory int) error {
	return cmp.Or(check("Ridge", ridge, 0), check("RefitEvery", float64(every), 0), check("Memory", float64(memory), 0))
}

func newLogistic(n int, scale, ridge float64, every, memory int) *logistic {
	zeros := func() []float64 { return make([]float64, n) }
	return &logistic{
		n: n, scale: scale, every: every, memory: memory, Next: 1,
		Quadratic: diagonal(n, ridge), Shift: zeros(), Theta: zeros(), Curvature: newFactor(n, ridge),
		gradient: zeros(), solved: zeros(), next: zeros(),
	}
}

func (l *logistic) score(dst, features []float64, rng *rand.Rand) {
	l.Curvature.score(dst, features, l.Theta, l.scale, rng)
}

// learn adds one step. It overwrites x.
func (l *logistic) learn(step int, x []float64, reward float64) error {
	l.Contexts, l.Rewards = append(l.Contexts, x...), append(l.Rewards, reward)
	l.approximate(x, reward)
	full := len(l.Rewards) >= l.memory
	if step < l.Next && !full {
		return nil
	}
	if err := l.refit(); err != nil {
		return err
	}
	l.Next = step + cmp.Or(l.every, max(1, step/10))
	if full {
		l.fold((len(l.Rewards) + 1) / 2)
	}
	return nil
}

// approximate learns a step between refits, see logistic. It overwrites x.
func (l *logistic) approximate(x []float64, reward float64) {
	spread := max(l.solve(x), 0)
	predicted := floats.Dot(l.Theta, x)
	// The mode is θ + s·H⁻¹x with s = reward − μ(predicted + s·spread). The right side falls with s
	// and μ is in [0, 1]: bisection finds s.
	lo, hi := reward-1, reward
	for range 50 {
		if s := (lo + hi) / 2; s+sigmoid(predicted+s*spread) > reward {
			hi = s
		} else {
			lo = s
		}
	}
	s := (lo + hi) / 2
	floats.AddScaled(l.Theta, s, l.solved)
	mu := sigmoid(predicted + s*spread)
	floats.Scale(math.Sqrt(mu*(1-mu)), x)
	l.Curvature.rotate(x, nil, 0)
}

// refit moves θ to the minimum by Newton's method and sets the curvature to the Hessian there. The
// squared Newton decrement gᵀH⁻¹g is the squared distance from the minimum in posterior standard
// deviations. From 1e-8 deviations, one more step ends in the rounding.
func (l *logistic) refit() error {
	const converged = 1e-16
	// A Hessian is costly, and the curvature at hand is close: it serves while steps shrink fast.
	l.gradientAt(l.Theta)
	for before, d := math.Inf(1), l.solve(l.gradient); d > converged && d < before/100; before, d = d, l.solve(l.gradient) {
		floats.Sub(l.Theta, l.solved)
		l.gradientAt(l.Theta)
	}
	for range 200 {
		if err := l.setHessian(); err != nil {
			return err
		}
		switch d := l.solve(l.gradient); {
		case d <= converged:
			floats.Sub(l.Theta, l.solved)
			return nil
		case !l.lineSearch(d) && d <= 1e-12:
			return nil // ill-conditioning stops the descent early
		}
	}
	return errors.New("the logistic fit did not converge")
}

// solve sets solved to H⁻¹x, H being the curvature, and returns xᵀH⁻¹x.
func (l *logistic) solve(x []float64) float64 {
	copy(l.solved, x)
	l.Curvature.solveLower(l.solved)
	l.Curvature.solveUpper(l.solved)
	return floats.Dot(l.solved, x)
}

// lineSearch moves θ against the Newton direction, far enough but not past the point where the objective
// rises again by more than a little, and reports whether it did. Gradients alone decide: values would
// be lost in rounding near the minimum.
func (l *logistic) lineSearch(decrement float64) bool {
	for scale := 1.0; scale > 1e-15; scale /= 2 {
		floats.AddScaledTo(l.next, l.Theta, -scale, l.solved)
		l.gradientAt(l.next)
		if floats.Dot(l.gradient, l.solved) >= -0.1*decrement {
			copy(l.Theta, l.next)
			return true
		}
	}
	return false
}

// gradientAt sets gradient to the objective's at theta.
func (l *logistic) gradientAt(theta []float64) {
	for i := range theta {
		l.gradient[i] = floats.Dot(l.Quadratic[i*l.n:(i+1)*l.n], theta) - l.Shift[i]
	}
	for s, reward := range l.Rewards {
		x := l.Contexts[s*l.n : (s+1)*l.n]
		floats.AddScaled(l.gradient, sigmoid(floats.Dot(theta, x))-reward, x)
	}
}

// setHessian sets the curvature to the objective's Hessian at θ.
func (l *logistic) setHessian() error {
	hessian := l.Curvature.Upper
	copy(hessian, l.Quadratic)
	for s := range l.Rewards {
		x := l.Contexts[s*l.n : (s+1)*l.n]
		mu := sigmoid(floats.Dot(l.Theta, x))
		rankOne(hessian, mu*(1-mu), x)
	}
	if _, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: l.n, Stride: l.n, Data: hessian}); !ok {
		return errors.New("the precision matrix is not positive definite to working accuracy")
	}
	return nil
}

// fold moves the oldest steps into the quadratic.
func (l *logistic) fold(steps int) {
	for s := range steps {
		x := l.Contexts[s*l.n : (s+1)*l.n]
		predicted := floats.Dot(l.Theta, x)
		mu := sigmoid(predicted)
		weight := mu * (1 - mu)
		floats.AddScaled(l.Shift, weight*predicted+l.Rewards[s]-mu, x)
		rankOne(l.Quadratic, weight, x)
	}
	l.Contexts = l.Contexts[:copy(l.Contexts, l.Contexts[steps*l.n:])]
	l.Rewards = l.Rewards[:copy(l.Rewards, l.Rewards[steps:])]
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
