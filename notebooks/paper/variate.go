package paper

import (
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// VariateStudy is the study of the control variate.
const VariateStudy = "control-variate"

// ControlVariateStudy is PGCR on the Bernoulli problem with and without
// [pgcr.Config.ControlVariate], over a quarter of the other experiments' steps.
// It is ours: the paper has no control variate.
func ControlVariateStudy() sim.Experiment {
	off, on := tunedBernoulli.pgcr, tunedBernoulli.pgcr
	off.ControlVariate, on.ControlVariate = false, true
	return toy(VariateStudy, envs.Bernoulli{}, []sim.Contender{
		{Name: VariateOff, Algorithm: off},
		{Name: VariateOn, Algorithm: on},
	}).Scale(0.25)
}

// The contenders of the study.
const (
	VariateOff = "values as they are"
	VariateOn  = "values less their mean"
)
