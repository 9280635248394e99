// Package baselines holds the classical algorithms that policy gradients are compared with: Random,
// the upper confidence bounds LinUCB and GLMUCB, and Thompson sampling with a linear and with a
// logistic model (LinearThompson, LogisticThompson).
//
// All of them score a candidate by its own context c and by parameters θ that all candidates share,
// and choose the highest score, at random among equal ones. They are myopic: session and discount are
// ignored, and a state is more features.
//
// Alpha (upper confidence bounds) and Scale (Thompson sampling) multiply the same standard error
// sqrt(cᵀA⁻¹c), so that a grid for one is a grid for the other: 0.003 to 3 covers what is useful
// when rewards are about 1. Their defaults and Ridge's are round numbers near the best, on the toy
// problems, of 32 random settings (package paper, Tuning) with these intercepts and no Standardised.
//
// An intercept is one more feature, constantly 1 and penalised like the others. The linear models
// have none by default (Li et al. have none), the logistic models have one: with contexts of a
// positive mean a logistic curve through the origin would spend its weights on its level.
//
// Every policy implements envs.Saver and envs.Probable. Probabilities are exact, but for
// Thompson sampling's: those are averages over 1,000 draws of θ, with a standard error of at most
// 0.016.
//
// # References
//
//   - Li et al.: A contextual-bandit approach to personalized news article recommendation. WWW 2010.
//   - Filippi et al.: Parametric bandits: the generalized linear case. NIPS 2010.
//   - Chapelle, Li: An empirical evaluation of Thompson sampling. NIPS 2011.
//   - Agrawal, Goyal: Thompson sampling for contextual bandits with linear payoffs. ICML 2013.
package baselines
