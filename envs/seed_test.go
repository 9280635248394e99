package envs_test

import (
	"math"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

// The first words of some streams, from a second implementation of FNV-1a,
// SplitMix64's finaliser and PCG-DXSM in integers of any length. A change of
// these numbers changes every result that was ever recorded.
func TestStreamsDoNotChange(t *testing.T) {
	for _, test := range []struct {
		seed uint64
		role string
		want [2]uint64
	}{
		{0, "", [2]uint64{0xa7e4a320ad1e5c52, 0x61e1c240ed2c8830}},
		{0, "act", [2]uint64{0x5cf5118156af6791, 0x138b103d7ac2affd}},
		{1, "act", [2]uint64{0xab49fa4665945d0f, 0x6d7509b40de9c682}},
		{1, "problem/contexts", [2]uint64{0x22cdcef14524faae, 0x339fab42d2989434}},
		{1<<64 - 1, "replay", [2]uint64{0xbea19e799de54092, 0x20f6a978d67e8f4b}},
	} {
		rng, src := envs.NewRand(test.seed, test.role), envs.NewSource(test.seed, test.role)
		for i, want := range test.want {
			if got := rng.Uint64(); got != want {
				t.Errorf("seed %d, role %q: word %d of NewRand is %#x, want %#x", test.seed, test.role, i, got, want)
			}
			if got := src.Uint64(); got != want {
				t.Errorf("seed %d, role %q: word %d of NewSource is %#x, want %#x", test.seed, test.role, i, got, want)
			}
		}
	}
}

// Two streams of n uniform numbers that are independent have a correlation of
// about N(0, 1/n), so 5/sqrt(n) is exceeded by one pair in two million.
func TestStreamsAreIndependent(t *testing.T) {
	const n = 4096
	roles := []string{"", "a", "b", "ab", "ba", "act", "replay", "problem/contexts", "problem/noise"}
	seeds := []uint64{0, 1, 2, 3, 1 << 32, 1 << 63, math.MaxUint64}
	var names []string
	var streams [][]float64
	for _, role := range roles {
		for _, seed := range seeds {
			rng := envs.NewRand(seed, role)
			x := make([]float64, n)
			for i := range x {
				x[i] = (rng.Float64() - 0.5) * math.Sqrt(12)
			}
			names = append(names, role+"/"+string(rune('0'+len(names)%len(seeds))))
			streams = append(streams, x)
		}
	}
	for i, x := range streams {
		for j, y := range streams[:i] {
			var sum float64
			for k := range x {
				sum += x[k] * y[k]
			}
			if c := sum / n; math.Abs(c) > 5/math.Sqrt(n) {
				t.Errorf("streams %s and %s have correlation %.3f", names[i], names[j], c)
			}
		}
	}
}

// Experiments use neighbouring seeds, so the first number of each must be as
// uniform over the seeds as the numbers of one stream: chi-square over 64 bins
// has 63 degrees of freedom, mean 63 and standard deviation sqrt(126) = 11.2.
func TestFirstNumbersOfNeighbouringSeeds(t *testing.T) {
	const n, bins = 1 << 14, 64
	for _, role := range []string{"act", "problem/contexts"} {
		var count [bins]float64
		seen := map[uint64]bool{}
		for seed := range uint64(n) {
			u := envs.NewRand(seed, role).Uint64()
			count[u>>58]++
			seen[u] = true
		}
		var chi float64
		for _, c := range count {
			chi += (c - n/bins) * (c - n/bins) / (n / bins)
		}
		if chi > 63+5*11.2 || chi < 63-5*11.2 {
			t.Errorf("role %q: chi-square %.1f of the first numbers over seeds, want 63 ± 56", role, chi)
		}
		if len(seen) != n {
			t.Errorf("role %q: %d seeds share a first number", role, n-len(seen))
		}
	}
}
