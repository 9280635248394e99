package logged_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs/logged"
)

// A shop that recommends teas has logged six customers. It learns from the first three and asks
// what the policy would have sold to the others.
func Example() {
	const file = `decision,customer,chosen,reward,propensity,sweetness
1,ann,1,1,0.5,0.9
1,ann,0,,,0.2
2,bob,0,,,0.8
2,bob,1,0,0.5,0.1
3,cid,1,1,0.75,0.7
3,cid,0,,,0.3
4,dan,1,0,0.25,0.4
4,dan,0,,,0.6
4,dan,0,,,0.3
5,eve,1,1,0.25,0.9
5,eve,0,,,0.1
6,fay,0,,,0.5
6,fay,1,0,0.5,0.8
`
	all, err := logged.Read(strings.NewReader(file), "teas.csv", logged.Format{User: "customer"})
	if err != nil {
		log.Fatal(err)
	}
	train, test := all.Split(0.5)
	policy, err := logged.Train(context.Background(), train, baselines.LinUCB{Alpha: 0.1}, []uint64{1})
	if err != nil {
		log.Fatal(err)
	}
	found, err := logged.Evaluate(context.Background(), test, policy, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("weights", found.Weight)
	fmt.Printf("%.2f sold a customer, the shop %.2f\n", found.Estimate(logged.SNIPW).Mean, test.Mean().Mean)
	// Output:
	// weights [0 4 2]
	// 0.67 sold a customer, the shop 0.33
}
