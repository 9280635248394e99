// Package neural holds the policies with neural networks that PGCR is compared
// with (Pan et al. 2019, section 6). They share the networks, the optimiser and
// the replay of package pgcr, so a difference in a result is one of the
// algorithm.
//
//	Greedy            the candidate with the largest value
//	EpsilonGreedy     the same, but a random one every now and then
//	DropoutThompson   the same, by one random sub-network a decision
//	VanillaPG         policy gradients without the marginal probabilities
//
// The first three learn a value network f(c) "with the same structure" as
// PGCR's critic, by least squares (17) over the chosen contexts: at every step B
// of them are drawn from the history, uniformly and with replacement, for one
// update of Adam. They differ in how they choose. Where a problem has sessions
// and Discount is above 0, the target is that of Sarsa in place of the reward.
// Their live policy is *Policy, which also tells its values.
//
// VanillaPG is PGCR with another estimate of the probabilities, OwnStep. Its live
// policy is *pgcr.Agent.
//
// # Settings
//
// An algorithm is a plain struct whose zero value is the documented default. It
// is printed as JSON with the defaults filled in.
//
// # Runs
//
// One live policy serves R independent runs, each with networks, history and
// random streams of its own: on the Go backend run r depends on seeds[r] alone,
// bit for bit. Policies are not safe for concurrent use, but independent of each
// other.
//
// # Errors
//
// New returns an error for a setting out of bounds, which names field and value.
// Act, Update and Values panic when a shape is not that of the spec and the
// seeds, and return an *envs.RunError when a context or reward is not finite,
// before any run has learned anything from the step, or when the values of a run
// have stopped being finite.
package neural
