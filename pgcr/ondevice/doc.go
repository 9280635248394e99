// Package ondevice plays simulations on a device, hundreds of steps a call: the
// decisions, the history, the draws from it and the updates of all runs are one
// loop in one program of XLA.
//
// # How
//
// In the problems that [envs.PotentialOutcomes] speaks of, nothing random
// depends on the actions. So the host lays out a tape of what is going to
// happen, some hundred steps at a time, with the same random streams as in
// [sim.Play]: contexts, the rewards of all candidates, the policy's random
// numbers, its dropout masks, and which steps of the history it will draw. The
// device runs along the tape and returns nothing but what was chosen, from which
// the host tells rewards and regret. Meanwhile the host lays out the next piece.
//
// So the problems need no graphs, a contender meets the same problem on the
// device and on the host, and both play the same game up to rounding: as long as
// no rounding decides a choice, step by step.
//
// # Which
//
// A [Player] plays problems with PotentialOutcomes and policies with a
// [pgcr.Script]. It leaves all others to its Fallback, and refuses them without
// one.
package ondevice
