package envs_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// TeaShop offers four teas, each with its sweetness and its strength. A tea is
// bought the more probably, the nearer it is to a taste that nobody tells.
type TeaShop struct{ Picky float64 }

func (s TeaShop) Spec() envs.Spec { return envs.Spec{Candidates: 4, Dim: 2} }

func (s TeaShop) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(s.Spec(), seeds, func(seed uint64) envs.Law {
		taste := envs.NewRand(seed, "problem/taste") // another one in every run
		sweet, strong := taste.Float64(), taste.Float64()
		return envs.Law{
			Offer: func(teas []float32, rng *rand.Rand) {
				for i := range teas {
					teas[i] = rng.Float32()
				}
			},
			Expected: func(tea []float32) float64 {
				return math.Exp(-s.Picky * math.Hypot(float64(tea[0])-sweet, float64(tea[1])-strong))
			},
			Reward: envs.Coin,
		}
	})
}

func ExampleFromLaw() {
	env, err := TeaShop{Picky: 3}.New([]uint64{7})
	if err != nil {
		fmt.Println(err)
		return
	}
	sold := make([]float64, 4)
	env.(envs.Oracle).ExpectedRewards(sold)
	fmt.Printf("teas %.2f\nsold with probability %.3f\n", env.Observe().Contexts, sold)
	// Output:
	// teas [0.50 0.89 0.61 0.99 0.15 0.23 0.22 0.38]
	// sold with probability [0.283 0.275 0.097 0.143]
}
