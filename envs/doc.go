// Package envs defines the decision protocol of contextual recommendation and
// holds the toy problems of the paper, which follow it.
//
// # Words
//
// A problem and an algorithm are declared: plain struct values, whose zero value is the documented
// default, that can be copied and written as JSON. Their New methods start what is live, an
// environment and a policy. A run is one independent repetition with its own seed. At each step a
// run offers a set of candidates, each described by a context, and the policy chooses one: its
// index is the action. The symbols are R runs, M candidates (of the largest set) and D features.
//
// # The loop
//
// The leading axis of every array is runs:
//
//	for range steps {
//		obs := env.Observe()
//		err := policy.Act(actions, obs)
//		outcome, err := env.Step(actions)
//		err = policy.Update(envs.Transition{Observation: obs, Actions: actions, Outcome: outcome})
//	}
//
// A policy learns from the transitions alone. What an environment knows beyond
// them (Oracle) is for measuring regret.
//
// # Who owns which slice
//
// A slice belongs to the function that returned it. An observation stays as it
// is until the Step after the one that answers it, an outcome until the next
// Step. A policy neither changes nor keeps what it is given: it copies.
//
// # Determinism
//
// A run depends on its seed alone: 20 runs in one environment are 7 and 13 in
// two, bit for bit. Problem and policy draw from separate random streams
// (NewRand), and the contexts and the noise of a bandit's step do not depend on
// the actions. So algorithms with equal seeds are compared in pairs.
//
// # A new problem
//
// A bandit takes a struct with the settings, its Spec, and a New: see FromLaw. A
// problem with states implements Environment, as envtest.Chain does. Package
// envtest tests both, and Check warns of what cannot be learned from.
//
// # Panics and errors
//
// Wrong lengths and shapes are mistakes of the calling code and panic. Settings
// out of bounds are errors from New that name the field and its value.
package envs
