// Package sim plays policies in environments and keeps the results.
//
// An [Experiment] is a literal that declares a comparison: one problem, some
// contenders, runs, steps and a seed. Its Run method plays every contender that
// the [Store] does not hold yet and returns the results of all:
//
//	results, err := sim.Experiment{
//		Name:       "toy-linear",
//		Problem:    envs.Linear{},
//		Contenders: []sim.Contender{{Name: "random", Algorithm: baselines.Random{}}},
//		Runs:       20,
//		Steps:      20000,
//		Seed:       1,
//	}.Run(ctx, sim.Store{Dir: "results"}, sim.Options{})
//
// # What is measured
//
// Reward is what the environment paid. Regret is the expected one: at every
// step, the largest expected reward among the candidates less that of the
// chosen one, as the environment's [envs.Oracle] tells them. It is never
// negative, does not see the noise of the rewards, and policies never see it.
// Both are kept cumulated, run by run, at the steps of [Checkpoints]; averaging
// over runs is left to whoever draws the figure.
//
// # Same configuration, same result
//
// Run r depends on the experiment and on r alone: see [Experiment.ProblemSeeds].
// However the runs are shared out to workers, processes and machines, the
// result file is the same byte for byte, provided that one build of the program
// computes them on one backend (others may round otherwise), and that problem
// and algorithm keep the contract of package envs (20 runs in one batch are
// 7 + 13 runs in two). What decides a result is the experiment's name, the Go types of problem
// and algorithm, what JSON shows of them, runs, steps and seed. The version of
// the program is recorded beside it, but a result of an older version is served
// like any other: remove the results when a change of the code changes what a
// declaration means. JSON shows neither unexported fields nor the types of
// values in fields of interface type.
//
// # Interruption and sharing
//
// A run that is finished is kept at once as a part file, and a contender whose
// runs are all there as one result file. Whatever happens - Ctrl-C, kill -9,
// power failure - the next Run goes on with what is missing. Several processes,
// also on several machines, may Run the same experiment on one shared folder:
// each takes runs that nobody else is playing, and all return all results.
// Claims are file locks (flock), which the operating system gives back when
// their holder dies; a shared folder therefore needs working locks between its
// machines, as NFS 4, CephFS, GPFS, or Lustre mounted with -o flock have. Where
// there are none, runs are played twice, but the results stay right, since
// nothing is read before it is whole and the same run is the same file.
package sim
