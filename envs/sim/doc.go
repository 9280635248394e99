// Package sim plays policies in environments and keeps the results.
//
// An [Experiment] is a literal that declares a comparison. Its Run method plays
// every entry that the [Store] does not hold yet and returns the results of all:
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
// Reward is what the environment paid. Regret is the expected one: at every
// step, the largest expected reward of the candidates less that of the chosen
// one, by the environment's [envs.Oracle]. Both are cumulated and kept run by run
// at the steps of [Checkpoints].
//
// Run r depends on the experiment and on r alone. Workers, stacks and shards
// never change a curve by a bit, if problem and algorithm keep the contract of
// package envs (20 runs in one batch are 7 and 13 in two) and one build of the
// program plays on one backend.
//
// # Stored results
//
// The name of a result's file is made of the settings: experiment, problem and
// algorithm (Go type and JSON), runs, steps and seed. Code, and what JSON does
// not show, can change while the name stays. Therefore Run plays the first 100
// steps of one run of a stored result again and compares them with the file. A
// difference beyond another processor's rounding makes the result stale: the
// entry is played again, and [Status] names it. Changed code that makes no
// difference in these steps is not noticed: remove the file then.
//
// Finished stacks of runs are kept at once as part files, and an entry whose runs
// are all finished as one result file, so that after Ctrl-C or kill -9 the next
// Run goes on. Several machines share an experiment and a folder by
// [Options].Shard: each plays a share of the runs, and the one that finds the
// parts of all runs makes the result. Two that find them at the same time write
// the same file.
package sim
