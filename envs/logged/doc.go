// Package logged learns from a log: decisions that something else has made,
// with what came of them. It reads the log from a CSV file, trains policies on
// it, and estimates what a policy would have earned in place of the one that
// made the log.
//
//	log, err := logged.ReadFile("shop.csv", logged.Format{})
//	...
//	train, test := log.Split(0.5)
//	err = test.CheckEvaluable() // are there propensities?
//	...
//	policy, err := logged.Train(ctx, train, baselines.LinUCB{}, []uint64{1})
//	...
//	found, err := logged.Evaluate(ctx, test, policy, 1, 1)
//	...
//	e := found.SelfNormalised()
//	fmt.Printf("%.3f, 95 %% interval %.3f to %.3f\n", e.Mean, e.Low, e.High)
//
// # The file
//
// A row is a candidate, the rows of a decision follow each other, and decisions
// are in the order of time, which is what Split, Train and Replay take it for:
//
//	decision,user,chosen,reward,propensity,price,sweetness
//	1,ann,0,,,3.20,0.8
//	1,ann,1,1,0.5,2.90,0.1
//	2,bob,1,0,0.25,4.10,0.6
//	2,bob,0,,,3.20,0.8
//
// Every decision has the same number of candidates: the protocol of package
// envs has no place for another number, and a filled-up one would be a candidate
// that policies choose. Features are numbers; a category is a column of 0 and 1
// for each of its values. One candidate is the chosen one. The others' rewards
// are unknown, and empty or 0. The propensity is the probability with which the
// logging policy chose what it chose. Format has the names of the columns.
//
// # What can be estimated
//
// Only what was chosen has a reward. So a policy is judged by the decisions at
// which it agrees with the log, and they say something of the others as long as
// it is known how probable the logged choice was:
//
//   - Evaluate weighs them by 1/propensity, for a policy that does not learn any
//     more, such as one that Train has made of earlier decisions;
//   - Replay keeps just them, for a policy that learns as it goes, where choices
//     were uniformly random (Li, Chu, Langford, Wang: Unbiased offline evaluation
//     of contextual-bandit-based news article recommendation algorithms. WSDM
//     2011).
//
// Neither can tell anything of a log without propensities, and both refuse it;
// Log.CheckEvaluable says so before a policy is trained.
// No estimate knows what the logging policy could never choose, nor that users
// would have come back more often, nor, where the users of the test are those of
// the training, how a policy does for others; see Log.Split and Estimate.
//
// Observations are those of a bandit: decisions are taken to be independent of
// what was chosen before them.
package logged
