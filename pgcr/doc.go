// Package pgcr is the algorithm of
//
//	Feiyang Pan, Qingpeng Cai, Pingzhong Tang, Fuzhen Zhuang, Qing He:
//	Policy Gradients for Contextual Recommendations. WWW 2019.
//	https://doi.org/10.1145/3308558.3313616
//
// for contextual bandits and for Markov decision processes whose candidates are described by
// contexts. [Config] declares it, [Config.New] makes an [Agent], which chooses and learns for R
// independent runs at once.
//
// # Where the equations are
//
// Each is one function of GoMLX nodes, which GoMLX differentiates; [Update] puts them together, and
// is what an Agent runs.
//
//	symbol          here                      shape         equation
//	s = log mu(c)   [Network.Forward], actor  [R, n]        (11)
//	f(c)            [Network.Forward], critic [R, n]        (3)
//	pi(c)           [Probabilities]           [..., M]      (13)
//	mu^(alpha t)    [Greed.At]                number        section 5.2.1
//	dropout mask    [Network.Forward], mask   [R, 1, H]     section 5.2.2
//	c_{-1} from D_t resample, in learn.go     [R, N, B, M]  sections 3.2, 5.1
//	c~ = (s, c)     joined, in replay.go      [D]           section 4
//	p̂(c)            [ResampledProbabilities]  [R, B]        (21), for (14)
//	target          [SarsaTarget]             [R, B]        in (22)
//	critic update   [CriticLoss]              number        (23), (17)
//	actor update    [ActorLoss]               number        (25)
//	steps           [Adam]                    as parameters (24), (26)
//
// Vanilla policy gradient, (28) and (29), is the same with Resamples: [OwnSets].
//
// # Runs
//
// The leading axis of every array is runs. Losses are summed over runs, never averaged, and every
// run draws from separate random streams, so run r of R is what it would be alone: bit for bit on
// the Go backend, as long as its matrix products take the same kernel whatever R is (those of the
// toy problems do).
//
// # Deviations from the paper
//
//   - Scores are logarithms: the network returns s = log mu, so that mu is positive whatever the
//     weights are, and nothing underflows.
//   - Resampled sets are drawn jointly. The others of every context are still draws from all
//     contexts seen, as (21) asks, but the probabilities of a set sum to 1. Without that an offset
//     of f is noise, and the actor's update has many times the variance of vanilla policy gradient.
//   - In sessions, the contexts of a set are those seen in the same session, joined with the state
//     of the drawn step.
//   - The critic need not be compatible in the sense of theorem 3.
//   - Time-Dependent Greed has a floor of 1 unless NoFloor is asked for: at t = 0 the paper's
//     mu^(alpha t) has no gradient.
//   - Actor-Dropout drops units of the last hidden layer, one mask for all candidates of a
//     decision, and one a run in an update.
//   - Batches are drawn with replacement from the whole history, from the first step on, one update
//     a step.
package pgcr
