package paper

import "github.com/contextrec/contextrec/envs/sim"

// Experiments returns the declared experiments at full scale, in the order of
// the paper's figures.
func Experiments() []sim.Experiment { return nil }
