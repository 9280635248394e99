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

// OpenConfig opens a backend anew.
var OpenConfig = openConfig
