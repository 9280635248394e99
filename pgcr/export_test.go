package pgcr

// The gradients of the losses, as updates take them.
var (
	ActorSlope  = actorSlope
	CriticSlope = criticSlope
)

// FuseAll makes the graphs those of backends that fuse operations.
func FuseAll(yes bool) { fusesAll = yes }

// BackendConfig lets a test say what the program links.
var BackendConfig = backendConfig

// TakeApart sets the size of a state from which contexts are taken apart, and
// returns what it was.
func TakeApart(from int) (before int) {
	before, minState = minState, from
	return before
}

// TakesApart tells whether the updates that the agent has made took contexts apart.
func (a *Agent) TakesApart() bool { return a.learn.state != nil }

// The orders of contexts.
var (
	ByStep    = byStep
	ByContext = byContext
)
