package envs

// Codes name the contexts of one step by small integers, where contexts are
// functions of some: songs, say, and the last few choices of a user. A history
// of codes takes a fraction of the memory of a history of contexts.
//
// All of it belongs to the environment, for as long as the Observation's slices
// do.
type Codes struct {
	Items []int32 // [R, M], one a candidate
	State []int32 // [R, S], S the same at all steps; empty where contexts have no state

	// Choices says what the state is: the item codes that were chosen at the
	// last S steps of the session, the latest first, NoItem where there were
	// fewer. Without it, state codes are the environment's own affair.
	Choices bool

	Table Table
}

// NoItem stands in a state code for a choice that has not been made yet.
const NoItem = -1

// A Table makes contexts out of codes. It does not change, and several
// goroutines may use it at once. Tables are compared with ==: take a pointer.
type Table interface {
	// Expand writes the context of an item that is offered in a state, [state |
	// item], to dst, [D]. It panics when a code is none of its own.
	Expand(dst []float32, state []int32, item int32)

	// Identity tells tables apart that give the same codes another meaning. It
	// is one line, and the same for the same data at all times.
	Identity() string
}

// PotentialOutcomes is implemented by environments that know what every
// candidate of a step would earn, and whose later steps do not depend on the
// actions but for state codes that are Codes.Choices. So everything but the
// choices can be laid out ahead of them, many steps at a time.
type PotentialOutcomes interface {
	// PotentialRewards writes the reward of every candidate of the current
	// observation to dst, [R, M] row-major: Step pays just this for it. It
	// panics when dst has another length. It changes nothing.
	PotentialRewards(dst []float32)
}
