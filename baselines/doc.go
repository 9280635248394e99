// Package baselines holds the classical policies that policy gradients are
// compared with: Random, the upper confidence bounds LinUCB and GLMUCB, and
// Thompson sampling with a linear and with a logistic model (LinearThompson,
// LogisticThompson).
//
// All of them score a candidate by its own context c and by parameters θ that
// all candidates share, and choose the candidate with the highest score; equal
// scores are drawn for uniformly. They are myopic: session and discount of a
// transition are ignored, and where a context is [state | item] the state is
// just more features.
//
// # Settings
//
// An algorithm is a plain struct whose zero value is the documented default. It
// is printed as JSON with the defaults filled in. Alpha (upper confidence
// bounds) and Scale (Thompson sampling) multiply the same standard error
// sqrt(cᵀA⁻¹c), so that a grid for one is a grid for the other: 0.01 to 3 covers
// what is useful when rewards are about 1. Contexts are not standardised.
//
// An intercept is one more feature, constantly 1 and penalised like the others.
// The linear models have none by default (Li et al. have none), the logistic
// models have one by default: with contexts of a positive mean a logistic curve
// through the origin would have to spend its slopes on its level.
//
// # Runs
//
// One live policy serves R independent runs, each with a model and random
// streams of its own: run r depends on seeds[r] alone, not on its neighbours.
// Act changes nothing but the run's own random streams, Scores and Estimate
// change nothing that can be seen. A policy is not safe for concurrent use, as it
// works in buffers of its own. Neither Act nor Update allocates, but for a
// logistic model's history until its memory is full.
//
// # Errors
//
// New returns an error for a setting out of bounds, which names field and value.
// Act, Update and Scores panic when a shape is not that of the spec and the
// seeds. They return an *envs.RunError when a context or a reward is NaN or
// infinite, before any run has learned anything from the step; Update also when
// a model has lost its numerical footing, which takes contexts many orders of
// magnitude above sqrt(Ridge).
//
// # References
//
//   - Li, Chu, Langford, Schapire: A contextual-bandit approach to personalized
//     news article recommendation. WWW 2010.
//   - Filippi, Cappé, Garivier, Szepesvári: Parametric bandits: the generalized
//     linear case. NIPS 2010.
//   - Chapelle, Li: An empirical evaluation of Thompson sampling. NIPS 2011.
//   - Agrawal, Goyal: Thompson sampling for contextual bandits with linear
//     payoffs. ICML 2013.
package baselines
