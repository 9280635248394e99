package nb_test

import (
	"context"

	"github.com/contextrec/contextrec/envs/logged"
	"github.com/contextrec/contextrec/notebooks/nb"
)

// The policy agrees with the first two decisions, whose weights are 2: they paid
// 1 and 0. The estimate rests on these two, for which Student's t is 12.706: its
// error is sqrt(2/1·2)/4 = 0.5, for the decisions add 1, -1, 0, 0, and that of the
// difference sqrt(2/1·0.75)/4 = 0.306, of 0.75, -0.25, -0.25, -0.25. For four
// decisions it is 3.182: the error of the weight is sqrt(4/3·4)/4 = 0.577, of 1, 1,
// -1, -1, and of the log sqrt(4/3·0.75)/4 = 0.25, of 0.25, -0.75, 0.25, 0.25.
//
// Where the policy agrees with the first decision only, there is no interval, nor
// where all rewards are 1. The weight then is 0.5 with an error of sqrt(4/3·3)/4,
// for 1.5, -0.5, -0.5, -0.5.
func ExampleEvaluations() {
	log := &logged.Log{
		Candidates: 2, Dim: 1, Features: []string{"x"}, ID: []string{"1", "2", "3", "4"},
		Contexts: make([]float32, 8), Chosen: []int{0, 0, 1, 1}, Reward: []float32{1, 0, 1, 1}, Propensity: []float64{0.5, 0.5, 0.5, 0.5},
	}
	e := nb.Must(logged.Evaluate(context.Background(), log, &firstPolicy{}, 1, 1))
	nb.Evaluations([]string{"first"}, []*logged.Evaluation{e}, nil)
	nb.Evaluations([]string{"first"}, []*logged.Evaluation{e}, []float64{0.5, 0.7, 0.5, 0.7, 0.5, 0.7, 0.5, 0.7})
	log.Chosen = []int{0, 1, 1, 1}
	e = nb.Must(logged.Evaluate(context.Background(), log, &firstPolicy{}, 1, 1))
	nb.Evaluations([]string{"first"}, []*logged.Evaluation{e}, nil)
	log.Chosen, log.Reward = []int{0, 0, 1, 1}, []float32{1, 1, 1, 1}
	e = nb.Must(logged.Evaluate(context.Background(), log, &firstPolicy{}, 1, 1))
	nb.Evaluations([]string{"first"}, []*logged.Evaluation{e}, nil)
	// Output:
	// Mean reward a decision of every policy as the log tells it, with 95 % intervals
	// policy   mean reward a decision [95 % interval]  less the log's    where policy and log agree  mean weight      effective decisions
	// first    0 [-6, 7]                               -0.2 [-4.1, 3.6]  0.5                         1.0 [-0.8, 2.8]  2
	// the log  0.8 [-0.0, 1.5]                                                                                        4
	// Mean reward a decision of every policy as the log tells it, with 95 % intervals, beside the truth
	// policy   mean reward a decision [95 % interval]  less the log's    where policy and log agree  mean weight      effective decisions  truth
	// first    0 [-6, 7]                               -0.2 [-4.1, 3.6]  0.5                         1.0 [-0.8, 2.8]  2                    0.5
	// the log  0.8 [-0.0, 1.5]                                                                                        4                    0.6
	// Mean reward a decision of every policy as the log tells it, with 95 % intervals
	// policy   mean reward a decision [95 % interval]  less the log's  where policy and log agree  mean weight      effective decisions
	// first    1 [-]                                   0.25 [-]        1                           0.5 [-1.1, 2.1]  1
	// the log  0.8 [-0.0, 1.5]                                                                                      4
	// Mean reward a decision of every policy as the log tells it, with 95 % intervals
	// policy   mean reward a decision [95 % interval]  less the log's  where policy and log agree  mean weight      effective decisions
	// first    1 [-]                                   0 [-]           1                           1.0 [-0.8, 2.8]  2
	// the log  1 [-]                                                                                                4
}
