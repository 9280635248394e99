// Package logged learns from a log: decisions that another system has made, and the reward of each.
//
//	log, err := logged.ReadFile("shop.csv", logged.Format{})
//	train, test := log.Split(0.5)
//	policy, err := logged.Train(ctx, train, baselines.LinUCB{}, []uint64{1})
//	found, err := logged.Evaluate(ctx, test, policy, 1)
//	fmt.Println(found.Estimate(logged.SNIPW), test.Mean(), found.Diagnose().Warnings)
//
// # The file
//
// A row is a candidate. The rows of a decision follow each other, and decisions are in the order of
// time. A decision has any number of candidates up to 1,000.
//
//	decision,user,chosen,reward,propensity,price,sweetness
//	1,ann,0,,,3.20,0.8
//	1,ann,1,1,0.5,2.90,0.1
//	2,bob,1,0,0.25,4.10,0.6
//	2,bob,0,,,3.20,0.8
//
// One candidate is the chosen one, with that propensity. Of a folder of the Open Bandit Dataset, the click
// is the reward, and the user's features, the position, the affinity and the item are features. Of dsjson,
// -_label_cost is the reward, numbers in c and its _multi are features by the names that lead to them,
// text is a category, and 1/(1 - pdrop) the sampling weight. An item of a fixed catalogue is kept once.
//
// Features of a file of up to 1 GiB (Format.Keep) are kept: 4 bytes a value, or 12 a value that is not 0
// where there are categories. Those of a larger file are read again each time, at some 50 MB a second, and a
// decision among 10 candidates takes up to 1.5 kB, or 1 with GOGC=25: 6 GB for 10 GB with 6 million decisions.
//
// # What can be estimated
//
// Evaluate weighs the decisions by 1/propensity, for a policy that does not learn. No estimate knows what the
// log could never choose. Decisions are taken to be independent of earlier choices. The Open Bandit Pipeline's
// names, equal to 1e-9 on the Open Bandit sample (OBD=FOLDER go test -run OpenBanditValues ./envs/logged):
//
//	InverseProbabilityWeighting, -Tuning       IPW; with a lambda ClippedIPW, whose L of 0 is tuned
//	SelfNormalizedInverseProbabilityWeighting  SNIPW
//	SubGaussianInverseProbabilityWeighting     SubGaussianIPW
//	DirectMethod, RegressionModel              DM, Log.CrossFit
//	DoublyRobust, -Tuning                      DR; with a lambda ClippedDR
//	SelfNormalizedDoublyRobust                 SNDR
//	SwitchDoublyRobust                         SwitchDR
//	DoublyRobustWithShrinkage                  DRos
//	SubGaussianDoublyRobust                    SubGaussianDR
//	MarginalizedInverseProbabilityWeighting    Log.Marginal, then any of them
//	ReplayMethod                               SNIPW, of a log of uniform choices and a policy that does not draw
//	NNPolicyLearner, IPWLearner                Learning; with Likelihood and Greedy
//	tuning_method                              Estimator.SLOPE, or else the mean squared error
//	Balanced..., Kernelized..., Slate...       not here
//
// # What Learning reaches
//
// On the learning example of the Open Bandit Pipeline (10,000 decisions among 10 items, whose features are
// Crossed with the user's) the log earns .424, and .800 is the optimum. The actor of pgcr.Config{InitScale: 1},
// softmax (Hidden []int{}) and the Pipeline earn, in the mean of five seeds of some 5 seconds (two cores):
//
//	             network: held-out, test   softmax: held-out, test   Pipeline
//	IPS                       .753  .771                 .746  .785     .7606
//	SNIPS                     .784  .789                 .764  .789
//	DR                        .791  .785                 .774  .788     .7733
//	DM                        .799  .795                 .800  .795     .7863
//	weighted likelihood       .766  .768                 .767  .789     .7933
//
// The penalty of the model, of 1 to 100, and of each objective the actor's rate, of .003 to .03, and Greedy or
// not, have the best held-out value: one half of the training file is learned and judged by DR on the other.
// Greedy was always better. OPL=FOLDER go test -run OpenBanditLearning -v -timeout 2h ./envs/logged
//
// # How often the intervals hold the truth
//
// The 95 % intervals hold it in .944 and more of 1,000 simulated logs of 300 and of 3,000 decisions, at rates
// of rewards from .005 to .6, and in .899 and more where rewards have a long tail. measured.md has all shares,
// and the relative errors of the estimators on the Pipeline's synthetic example.
package logged
