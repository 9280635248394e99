package ondevice

import (
	"fmt"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// A FeatureTable is an envs.Table whose contexts a device can make by itself, out
// of rows of features: for every state code the features of its row and its
// Feedback, all 0 where nothing was chosen yet, and then the features of the
// item's row.
type FeatureTable interface {
	envs.Table

	// Gather returns the row of every code, and the features of every row, row by
	// row. The caller must not change them. ok is false where contexts are made of
	// more than that.
	Gather() (rows []int32, features []float32, ok bool)

	// Feedback is what a state says of an item that was chosen.
	Feedback(code int32) float32
}

// catalogue is a FeatureTable that is to lie on a device.
type catalogue struct {
	table    FeatureTable
	rows     []int32   // of each code
	features []float32 // [n, f]
	f        int
	state    int // S, state codes of a step
}

// mostRows is how many rows there may be: float32 holds their numbers.
const mostRows = 1 << 24

// newCatalogue returns the catalogue that the contexts of an environment are made
// of, or nil where there is none but contexts do not depend on what was chosen and
// can be laid out themselves.
func newCatalogue(obs envs.Observation, spec envs.Spec) (*catalogue, error) {
	if obs.Codes == nil {
		return nil, nil
	}
	c := &catalogue{state: len(obs.Codes.State) / obs.Runs, f: spec.Dim - spec.State}
	if c.state > 0 && !obs.Codes.Choices {
		return nil, nil
	}
	err := c.gather(obs, spec)
	switch {
	case err == nil:
		return c, nil
	case c.state == 0:
		return nil, nil
	}
	return nil, err
}

// gather fetches the features, or returns an error that says why contexts cannot
// be made of them.
func (c *catalogue) gather(obs envs.Observation, spec envs.Spec) error {
	ok := false
	if c.table, ok = obs.Codes.Table.(FeatureTable); ok {
		c.rows, c.features, ok = c.table.Gather()
	}
	switch {
	case !ok:
		return unsuitable(fmt.Sprintf("contexts depend on what was chosen before, in a way that %T does not tell for a device", obs.Codes.Table))
	case spec.State != c.state*(c.f+1) || len(c.features)%c.f != 0:
		return unsuitable(fmt.Sprintf("contexts of %d features with a state of %d are not %d choices and an item of %T", spec.Dim, spec.State, c.state, obs.Codes.Table))
	case len(c.features)/c.f >= mostRows:
		return unsuitable(fmt.Sprintf("%T has %d rows of features, fewer than %d are possible", obs.Codes.Table, len(c.features)/c.f, mostRows))
	}
	for i, x := range c.features {
		if !finite(float64(x)) {
			return fmt.Errorf("ondevice: feature %d of row %d of %T is %v", i%c.f, i/c.f, obs.Codes.Table, x)
		}
	}
	return c.check(obs, spec)
}

// check compares contexts with those that the table itself makes.
func (c *catalogue) check(obs envs.Observation, spec envs.Spec) error {
	m := obs.Candidates
	want, got := make([]float32, spec.Dim), make([]float32, spec.Dim)
	for i, item := range obs.Codes.Items[:m] {
		state := make([]int32, c.state)
		for j := range state {
			state[j] = obs.Codes.Items[(i+j+1)%m]
			if j > 0 && i == 0 {
				state[j] = envs.NoItem
			}
		}
		c.table.Expand(want, state, item)
		if c.expand(got, state, item); !slices.Equal(got, want) {
			return unsuitable(fmt.Sprintf("%T does not expand to what it gathers", obs.Codes.Table))
		}
	}
	return nil
}

// expand is what the device does.
func (c *catalogue) expand(dst []float32, state []int32, item int32) {
	clear(dst)
	features := func(code int32) []float32 { return c.features[int(c.rows[code])*c.f:][:c.f] }
	for i, code := range state {
		if code != envs.NoItem {
			copy(dst[i*(c.f+1):], features(code))
			dst[i*(c.f+1)+c.f] = c.table.Feedback(code)
		}
	}
	copy(dst[c.state*(c.f+1):], features(item))
}

// columns is how many values of an item's context follow the state: its
// features, and what makes contexts as wide as networks take them.
func (c *catalogue) columns(width int) int { return width - c.state*(c.f+1) }

// wide returns the rows as they lie on the device, [n+1, columns]: the features,
// the 1 that pgcr.Width speaks of, and zeros. The last row, all zeros, stands for
// nothing chosen.
func (c *catalogue) wide(width int) (values []float32, rows int) {
	n, w := len(c.features)/c.f, c.columns(width)
	values = make([]float32, (n+1)*w)
	for i := range n {
		copy(values[i*w:], c.features[i*c.f:(i+1)*c.f])
		values[i*w+c.f] = 1
	}
	return values, n + 1
}
