package pgcr

import "github.com/gomlx/gomlx/core/graph"

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

// RowsAlone sets how many multiplications the first layer's product needs for
// updates to have contexts in rows alone, and returns what it was.
func RowsAlone(from int) (before int) {
	before, largeProduct = largeProduct, from
	return before
}

// HasRowsAlone tells whether the updates that the agent makes have them so.
func (a *Agent) HasRowsAlone() bool { return a.learn.contexts.columns == nil }

// TakesApart tells whether the updates that the agent has made took contexts apart.
func (a *Agent) TakesApart() bool { return a.learn.state != nil }

// The orders of contexts.
var (
	ByStep    = byStep
	ByContext = byContext
)

// UpdateGraph is one update of a bandit's networks, with the parameters and moments
// params[0] of the actor and params[1] of the critic. A device has no columns and
// nothing chosen.
func UpdateGraph(c Config, estimator Estimator, actor, critic Network, params [2][]*graph.Node, rows, columns, chosenRows, chosen, picked, reward, mask, kappa, size, eps *graph.Node) []*graph.Node {
	dims := reward.Shape().Dimensions
	return updateGraph(c, estimator, actor, critic, updateInputs{
		actor: params[0], critic: params[1], rows: rows, columns: columns, chosenRows: chosenRows, chosen: chosen,
		picked: picked, reward: reward, mask: mask, kappa: kappa,
		actorSize: size, actorEps: eps, criticSize: size, criticEps: eps,
		run: dims[0], batch: dims[1], candidates: rows.Shape().Dimensions[1] / dims[1],
	})
}
