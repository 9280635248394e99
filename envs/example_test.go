package envs_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// TeaShop offers up to 4 teas, each with its sweetness and its strength. A tea is
// bought the more probably, the nearer it is to the hidden taste of a run.
type TeaShop struct{ Picky float64 }

func (s TeaShop) Spec() envs.Spec { return envs.Spec{Candidates: 4, Dim: 2} }

func (s TeaShop) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(s.Spec(), seeds, func(seed uint64) envs.Law {
		taste := envs.NewRand(seed, "problem/taste")
		sweet, strong := taste.Float64(), taste.Float64()
		bought := func(tea []float32) float64 {
			return math.Exp(-s.Picky * math.Hypot(float64(tea[0])-sweet, float64(tea[1])-strong))
		}
		return envs.Law{
			Offer: func(teas []float32, rng *rand.Rand) int {
				n := 1 + rng.IntN(4)
				for i := range 2 * n {
					teas[i] = rng.Float32()
				}
				return n
			},
			Reward:   func(tea []float32, rng *rand.Rand) float64 { return envs.Coin(bought(tea), rng) },
			Expected: bought,
		}
	})
}

func ExampleFromLaw() {
	env, err := TeaShop{Picky: 3}.New([]uint64{7}) // one run
	if err != nil {
		fmt.Println(err)
		return
	}
	obs, expected := env.Observe(), make([]float64, 4)
	env.(envs.Oracle).ExpectedRewards(expected)
	for k := range obs.Size(0) {
		fmt.Printf("tea %.2f is bought with probability %.3f\n", obs.Context(0, k), expected[k])
	}
	outcome, err := env.Step([]int{0})
	fmt.Println("bought:", outcome.Reward, err)
	// Output:
	// tea [0.89 0.61] is bought with probability 0.813
	// tea [0.99 0.15] is bought with probability 0.222
	// tea [0.23 0.22] is bought with probability 0.117
	// bought: [1] <nil>
}
