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
// # What is measured
//
// On the learning example of the Open Bandit Pipeline the log earns .424 a decision, and .800 is the optimum.
// PGCR, with Learning as chosen on the training file alone, earns .771 by IPS, .789 by SNIPS, .785 by DR, .795
// by DM and .768 by likelihood (OPL=FOLDER go test -run OpenBanditLearning -v -timeout 2h ./envs/logged).
// The 95 % intervals hold the truth in .944 and more of 1,000 simulated logs of 300 and of 3,000 decisions, at
// rates of rewards from .005 to .6, and in .899 and more where rewards have a long tail. measured.md has all
// of these numbers, and the relative errors of the estimators on the Pipeline's synthetic example.
package logged
