package envs

import "math/rand/v2"

// NewRand returns the random stream of one role (a short name such as "problem/contexts", "act",
// "replay") of one run. Streams of different roles or seeds are independent. The generator is
// math/rand/v2's PCG, seeded by hashing role and seed.
//
// Problem and policy of a run often have the same seed, so their roles must
// differ: those of problems begin with "problem/".
func NewRand(seed uint64, role string) *rand.Rand { return rand.New(NewSource(seed, role)) }

// NewSource is NewRand's generator itself, for callers that must save and
// restore it (rand.PCG marshals to binary).
func NewSource(seed uint64, role string) *rand.PCG {
	// FNV-1a over the role, then SplitMix64 finalisers: neighbouring seeds and
	// roles end in unrelated states.
	h := uint64(14695981039346656037)
	for i := 0; i < len(role); i++ {
		h = (h ^ uint64(role[i])) * 1099511628211
	}
	return rand.NewPCG(mix(seed^h), mix(seed+0x9e3779b97f4a7c15*(h|1)))
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
