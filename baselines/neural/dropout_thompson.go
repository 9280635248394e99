package neural

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/contextrec/contextrec/envs"
)

// DropoutThompson drops each unit of the last hidden layer with probability
// Dropout and chooses the candidate with the largest value in what is left.
// Every decision has a mask of its own, which all its candidates share: as in
// Thompson sampling one hypothesis decides (Gal and Ghahramani 2016 read the
// masks as draws from an approximate posterior). An update has one mask a run
// too: it trains one sub-network, whose own values Sarsa's target looks ahead
// with.
//
// It is the value-based counterpart of Actor-Dropout (section 5.2.2), and not in
// the paper. Nothing makes the spread of the sub-networks shrink with the amount
// of data, so the exploration need not fade.
type DropoutThompson struct {
	Settings
	Dropout float64 // share of units dropped, in (0, 1); default 0.5. Greedy drops none.
}

func (a DropoutThompson) withDefaults() DropoutThompson {
	a.Settings = a.Settings.withDefaults()
	a.Dropout = cmp.Or(a.Dropout, 0.5)
	return a
}

// New implements envs.Algorithm; the policy is a *Policy. It returns an error that
// names the field when a setting is out of bounds, and when there is no seed.
func (a DropoutThompson) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	if !(a.Dropout > 0 && a.Dropout < 1) {
		return nil, fmt.Errorf("neural: DropoutThompson.Dropout is %v, want above 0 and below 1", a.Dropout)
	}
	return newPolicy("DropoutThompson", a.Settings, a.Dropout, spec, seeds, nil)
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (a DropoutThompson) MarshalJSON() ([]byte, error) {
	type plain DropoutThompson
	return json.Marshal(plain(a.withDefaults()))
}
