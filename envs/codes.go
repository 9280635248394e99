package envs

// Codes name the contexts of one step by small integers, where contexts are
// functions of such: a song and the last three songs, say. A history of them
// takes a fraction of the memory. The slices are owned as the Observation's are.
type Codes struct {
	Items []int32 // [R, M], one a candidate; those of a set in a session differ
	State []int32 // [R, S], S the same at all steps; empty where contexts have no state
	Table Table
}

// A Table makes contexts out of codes. It does not change, and several
// goroutines may use it at once. Tables are compared with ==: take a pointer.
type Table interface {
	// Expand writes the context of an item that is offered in a state, [state |
	// item], to dst, [D]. It panics for an unknown code.
	Expand(dst []float32, state []int32, item int32)

	// Identity is one line that differs between tables that give the same codes
	// another meaning, and is the same for the same data at all times.
	Identity() string
}
