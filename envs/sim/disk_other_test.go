//go:build !linux && !darwin

package sim_test

// limitFiles is not there on this system, where the test that needs it is not
// built.
func limitFiles(uint64) {}
