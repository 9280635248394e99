package nb_test

import (
	"context"

	"github.com/contextrec/contextrec/envs/logged"
	"github.com/contextrec/contextrec/notebooks/nb"
)

// The policy agrees with the first two decisions, whose weights are 2: they paid
// 1 and 0. Student's t for four decisions is 3.182, and the errors are
// sqrt(4/3·2)/4 = 0.408 of the estimate, to which the decisions add 1, -1, 0, 0;
// sqrt(4/3·0.75)/4 = 0.25 of the difference, 0.75, -0.25, -0.25, -0.25; and
// sqrt(4/3·4)/4 = 0.577 of the weight, 1, 1, -1, -1. Of the log it is 0.25 again:
// 0.25, -0.75, 0.25, 0.25.
func ExampleEvaluations() {
	log := &logged.Log{
		Candidates: 2, Dim: 1, Features: []string{"x"}, ID: []string{"1", "2", "3", "4"},
		Contexts: make([]float32, 8), Chosen: []int{0, 0, 1, 1}, Reward: []float32{1, 0, 1, 1}, Propensity: []float64{0.5, 0.5, 0.5, 0.5},
	}
	e := nb.Must(logged.Evaluate(context.Background(), log, &firstPolicy{}, 1, 1))
	nb.Evaluations([]string{"first"}, []*logged.Evaluation{e}, nil)
	nb.Evaluations([]string{"first"}, []*logged.Evaluation{e}, []float64{0.5, 0.7, 0.5, 0.7, 0.5, 0.7, 0.5, 0.7})
	// Output:
	// Mean reward a decision of every policy as the log tells it, with 95 % intervals
	// policy   mean reward a decision [95 % interval]  less the log's    where policy and log agree  mean weight      effective decisions
	// first    0.5 [-0.8, 1.8]                         -0.2 [-1.0, 0.5]  0.5                         1.0 [-0.8, 2.8]  2
	// the log  0.8 [-0.0, 1.5]                                                                                        4
	// Mean reward a decision of every policy as the log tells it, with 95 % intervals, beside the truth
	// policy   mean reward a decision [95 % interval]  less the log's    where policy and log agree  mean weight      effective decisions  truth
	// first    0.5 [-0.8, 1.8]                         -0.2 [-1.0, 0.5]  0.5                         1.0 [-0.8, 2.8]  2                    0.5
	// the log  0.8 [-0.0, 1.5]                                                                                        4                    0.6
}
