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
// Each is one function of GoMLX nodes, which GoMLX differentiates. [Update] puts (21) to (26)
// together, and is what an Agent runs.
//
//	in the paper                 here                               shape
//	(3)         f(c), for Q(c)   [Network.Forward] of the critic    [R, n]
//	(11)        s = log mu(c)    [Network.Forward] of the actor     [R, n]
//	(13)        pi(c)            [Probabilities], in [Agent.Act]    [..., M]
//	(14)        p(c)             estimated by (21)
//	(12), (16)  gradient of J    that of -[ActorLoss], as (18)      as parameters
//	(17)        least squares    [CriticLoss] with weight 1         number
//	(21)        p̂(c)             [ResampledProbabilities]           [R, B]
//	            its c_{-1}       [Replay.Resample]                  [R, N, B, M]
//	(22)        r + gamma f      [SarsaTarget]                      [R, B]
//	(23)        critic's update  [CriticLoss]                       number
//	(25)        actor's update   [ActorLoss]                        number
//	(24), (26)  steps            [Adam], in [State.Descend]         as parameters
//	(28), (29)  vanilla PG       the same, Resamples is [OwnSets]
//	3.2         D_t              [Replay]
//	4           c~ = (s, c)      join, in replay.go                 [D]
//	5.2.1       mu^(alpha t)     [Greed.At]                         number
//	5.2.2       Actor-Dropout    [DrawMask]                         [R, 1, H]
//
// The other equations are in definitions and proofs. What lemmas 1 and 4 and theorem 5 say is measured
// in notebooks/theory.ipynb.
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
//   - The paper resamples from the contexts of the same state. Here they are those of the same
//     session, the steps of one user for example, each joined with the state of the drawn step.
//   - Batches are drawn with replacement from the whole history, from the first step on, whichever
//     policy made it. So the action a of step t+1 in (22) is the one that was chosen then.
//   - The critic need not be compatible in the sense of theorem 3, (19).
//   - Time-Dependent Greed has a floor of 1 unless NoFloor is asked for: at t = 0 the paper's
//     mu^(alpha t) has no gradient.
//   - Actor-Dropout draws one mask of the weights before the output for all candidates of a
//     decision, and one a run in an update.
//
// These hold for [Paper] too. The zero [Config] moreover begins with small weights, makes four updates
// a step, and has no p̂ in (23).
package pgcr
