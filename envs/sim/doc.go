// Package sim plays policies in environments and keeps the results.
//
// An [Experiment] is a literal that declares a comparison. Its Run method plays
// every entry that the [Store] does not hold yet and returns the results of all.
//
// A [Result] prints its summary. Reward is what the environment paid. Regret is the expected one: the
// largest expected reward of the candidates less that of the chosen one, by the environment's
// [envs.Oracle]. Both are cumulated and kept run by run.
//
// Run r depends on the experiment and on r alone. Workers, stacks and shards ([Options]) never change
// a curve by a bit, if problem and algorithm keep the contract of package envs and one build of the
// program plays on one backend.
//
// # Stored results
//
// Code can change while the name of a result's file stays. So Run plays the first 100 steps of one
// run of each stored result again, and 10,000 steps of the problem alone ([Result].Check). A
// difference beyond another processor's rounding makes the experiment stale: all entries are played
// again, and until an entry is there, its former file is kept with ".old" behind its name. What changes
// later, or than 20 steps where another backend played, is not noticed: [Options].Fresh plays all again.
//
// After Ctrl-C or kill -9 the next Run goes on from the stacks (runs that are played together) that
// are finished. Machines share an experiment by a folder and [Options].Shard: the one that finds the
// parts of all runs makes the result.
package sim
