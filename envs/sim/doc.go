// Package sim plays policies in environments and keeps the results.
//
// An [Experiment] is a literal that declares a comparison: a problem, some
// algorithms, runs, steps and a seed. Its Run method plays every entry that the
// [Store] does not hold yet and returns the results of all:
//
//	results, err := sim.Experiment{
//		Name:    "toy-linear",
//		Problem: envs.Linear{},
//		Entries: []sim.Entry{{Name: "random", Algorithm: baselines.Random{}}},
//		Runs:    20,
//		Steps:   20000,
//		Seed:    1,
//	}.Run(ctx, sim.Store{Dir: "results"}, sim.Options{})
//
// # What is measured
//
// Reward is what the environment paid. Regret is the expected one: at every
// step, the largest expected reward among the candidates less that of the chosen
// one, by the environment's [envs.Oracle]. It is never negative, the noise of
// the rewards does not enter it, and policies never see it. Both are cumulated
// and kept run by run at the steps of [Checkpoints].
//
// # Same configuration, same result
//
// Run r depends on the experiment and on r alone, see [Experiment.ProblemSeeds].
// Workers, stacks and shards never change a curve by a bit, provided that one
// build of the program plays on one backend and that problem and algorithm keep
// the contract of package envs: 20 runs in one batch are 7 and 13 in two.
//
// The name of a result's file is made of the experiment's name, of problem and
// algorithm (Go type and JSON), runs, steps and seed. What JSON does not show,
// above all the code, can change while the name stays. Therefore, before a
// stored result is used, the first 100 steps of one of its runs are played again
// and compared with the file. A difference beyond what another processor's
// rounding explains makes the result stale: the entry is played again, and
// [Status] names it. Changed code that makes no difference in these steps is not
// noticed: remove the file then.
//
// # Interruption and sharing
//
// Finished runs are kept at once as a part file, and an entry whose runs are all
// finished as one result file. After Ctrl-C, kill -9 or a power failure the next
// Run goes on with what is missing. Several processes or machines share an
// experiment by [Options].Shard: each plays its share of the runs, and the one
// that finds the parts of all runs makes the result of them.
package sim
