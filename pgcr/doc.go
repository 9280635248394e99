// Package pgcr is the algorithm of
//
//	Feiyang Pan, Qingpeng Cai, Pingzhong Tang, Fuzhen Zhuang, Qing He:
//	Policy Gradients for Contextual Recommendations. WWW 2019.
//	https://doi.org/10.1145/3308558.3313616
//
// for contextual bandits and for Markov decision processes whose candidates are
// described by contexts. [Config] declares it, [Config.New] makes an [Agent],
// which chooses and learns for R independent runs at once.
//
// # Where the equations are
//
// The numbers are those of the paper.
//
//	symbol           here                        shape            equation
//	s = log mu(c)    [Network.Forward], actor    [R, n]           (11)
//	f(c)             [Network.Forward], critic   [R, n]           (3)
//	pi(c)            [LogProbabilities]          [..., M]         (13)
//	mu^(alpha t)     [Greed.At]                  number           section 5.2.1
//	dropout mask     [Network.Forward], mask     [R, 1, H]        section 5.2.2
//	c_{-1} from D_t  [BatchRivals]               [R, N(M-1), n]   section 3.2
//	  at state s     [Replay.Rival]              [D]              section 5.1
//	p̂(c)             [EstimateMarginal]          [R, n]           (21), for (14)
//	grad p̂           [Marginal.Gradient]         [R, n]           in (25)
//	delta            [SarsaTarget] less f        [R, B]           (22)
//	critic update    [CriticLoss]                one number       (23)
//	actor update     [ActorLoss]                 one number       (25)
//	squared error    [ValueLoss]                 one number       (17)
//	Adam             [Adam.Scalars], [Step]      as parameters    section 5.1
//
// The update as a whole is updateGraph in learn.go. Vanilla policy gradient,
// (28) and (29), is the same with another [Estimator], and lives in package
// baselines/neural.
//
// # Shapes and the runs axis
//
// The leading axis of every array is runs. Losses are summed over runs, never
// averaged, and every run draws from its own random streams, so run r of R is
// what it would be alone: bit for bit on the Go backend, as long as its matrix
// products take the same kernel whatever R is. GoMLX v0.28 chooses that by the
// size of one run's product with AVX2, and of all runs' together without vector
// instructions or with AVX-512, where the limit is 4 million multiplications:
// the toy problems' networks stay below it up to 22 runs in a stack.
//
// # Deviations
//
// What the paper leaves open, or says in another way:
//
//   - Scores are logarithms: the network returns s = log mu, so that mu is
//     positive whatever the weights are, and nothing underflows.
//   - Time-Dependent Greed has a floor of 1 unless NoFloor is asked for: at t = 0
//     the paper's mu^(alpha t) has no gradient.
//   - The marginals that weigh the critic update are those before it, and the
//     actor learns from the updated critic, as the indices in (23) and (25) say;
//     both use the marginals of the same draw of rivals.
//   - In a bandit the rivals come from the other places of the batch, which is a
//     uniform draw from the history, and stand at the same place of their steps,
//     whose candidates are kept in a random order. With states, all candidates of
//     a step share the rivals that were drawn for that step.
//   - Where a session has a single step so far, its own candidates stand in as
//     rivals.
//   - Actor-Dropout drops units of the last hidden layer, one mask for all
//     candidates of a decision, and scales the others by 1/(1-rate). An update
//     has one mask a run.
//   - Batches are drawn with replacement from the whole history, from the first
//     step on, one update a step.
//   - [Config.ControlVariate] is ours, and off by default.
package pgcr
