// Package neural holds the algorithms with neural networks that PGCR is compared with (Pan et al.
// 2019, section 6). They share networks, losses, history and optimiser with package pgcr, so that a
// difference in a result is one of the algorithm.
//
//	Greedy          the candidate with the largest value
//	EpsilonGreedy   the same, but a random one every now and then
//	VanillaPG       policy gradients without resampled sets, (28) and (29)
//
// The first two learn a value network f(c) of the form of PGCR's critic by least squares (17) over
// the chosen contexts: for each update of Adam B of them are drawn from the history, uniformly and
// with replacement. Where a problem has sessions and Discount is above 0, the target is that of
// Sarsa (22) in place of the reward. Their live policy is *Policy, that of VanillaPG is *pgcr.Agent.
//
// One live policy serves R independent runs, each with its networks, history and random streams: on
// the Go backend run r depends on seeds[r] alone, bit for bit. Policies are not safe for concurrent
// use, but independent of each other. Panics and errors are those that package envs describes.
package neural
