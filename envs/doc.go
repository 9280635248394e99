// Package envs defines the decision protocol of contextual recommendation and
// holds small problems that speak it.
package envs
