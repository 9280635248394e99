package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// ProblemSeeds returns the problem seeds of the n runs from first on. The seed
// of run r is the first 8 bytes, little-endian, of the SHA-256 of the text
//
//	contextrec problem <Seed> <r>
//
// (both decimal), so runs are unrelated, and run r is the same whatever Runs
// is. All contenders meet the same seeds: comparisons are paired run by run.
func (e Experiment) ProblemSeeds(first, n int) []uint64 { return e.seeds("problem", first, n) }

// PolicySeeds returns the policy seeds of the n runs from first on, made like
// ProblemSeeds with the word "policy" in place of "problem". They are the same
// for all contenders too, so that a contender's result does not depend on the
// company that it is in.
func (e Experiment) PolicySeeds(first, n int) []uint64 { return e.seeds("policy", first, n) }

func (e Experiment) seeds(role string, first, n int) []uint64 {
	if first < 0 || n < 0 {
		panic(fmt.Sprintf("sim: seeds of %d runs from run %d on", n, first))
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		sum := sha256.Sum256(fmt.Appendf(nil, "contextrec %s %d %d", role, e.Seed, first+i))
		seeds[i] = binary.LittleEndian.Uint64(sum[:])
	}
	return seeds
}
