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
// [pgcr.Script], in sessions too. It leaves all others to its Fallback, and refuses
// them without one.
//
// Where contexts are made of codes by a [FeatureTable], the history holds codes,
// and the device makes contexts of them. Only so can contexts depend on what was
// chosen before: the tape says at which steps that was, and the device looks up
// what it chose there.
//
// # Memory
//
// The history of all steps lies on the device, and once more while a piece is
// added to it. A run's step takes 4 bytes a feature, with the features of a
// candidate and one more rounded up to a multiple of 16, and 8; with codes 4 bytes
// a candidate and 8, and with S choices as the state 4*S and 8 more. That is 68
// bytes for the paper's music with states, with 10 candidates and 3 choices: 1.7 GB
// for 5 runs of 5 million steps, and 48 bytes, 1.2 GB, without states. The features of
// 360,000 songs take 143 MB, and what an update makes of a batch some tens of MB.
//
// # Interruptions
//
// A match with a Folder is kept there about once a minute, and at an interrupt:
// parameters and what was chosen. It stays there until the Folder is removed. The
// tape comes again from the seeds, so the next Play of the match goes on to the same
// end, to the last bit if the match is compiled to the same program. On a GPU, XLA
// may choose among its kernels anew, unless XLA_FLAGS has --xla_gpu_autotune_level=0.
package ondevice
