package online_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/online"
)

// A shop offers teas, described by how hot and how sweet they are, and learns from
// sales. Only sweet ones are bought.
func Example() {
	policy, err := online.New(baselines.LinUCB{Alpha: 0.1}, envs.Spec{Candidates: 3, Dim: 2}, 1, 1000)
	if err != nil {
		log.Fatal(err)
	}
	teas := [][]float32{{1, 0}, {0, 1}, {1, 1}}
	for day := range 20 {
		offered := teas[:2+day%2]
		d, err := policy.Decide(offered)
		if err != nil {
			log.Fatal(err)
		}
		// The customer who is shown offered[d.Index] pays later.
		if err := policy.Reward(d.ID, offered[d.Index][1]-offered[d.Index][0]/2); err != nil {
			log.Fatal(err)
		}
	}
	d, err := policy.Decide(teas)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("tea", d.Index, "with probability", d.Probability)

	var file bytes.Buffer // what has been learned, and the decision that waits for a reward
	if err := policy.Save(&file); err != nil {
		log.Fatal(err)
	}
	again, err := online.New(baselines.LinUCB{Alpha: 0.1}, envs.Spec{Candidates: 3, Dim: 2}, 1, 1000)
	if err != nil {
		log.Fatal(err)
	}
	if err := again.Load(&file); err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Reward(d.ID, 1))
	// Output:
	// tea 1 with probability 1
	// <nil>
}
