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
//	2,bob,0,,,2.50,0.3
//
// Features are numbers; a category is a column of 0 and 1 for each of its values. One candidate is
// the chosen one. The propensity is the probability with which it was chosen. Reward and propensity
// of the others are not read.
//
// # What can be estimated
//
// Only the chosen candidate has a reward. Evaluate weighs the decisions by 1/propensity, for a policy
// that has finished learning. Replay keeps those in which policy and log agree, for an algorithm that
// learns while it plays. Without propensities a model of the log's choices can stand in for them. No
// estimate knows what the logging policy could never choose. Decisions are taken to be independent of
// what was chosen before them.
//
// What the Open Bandit Pipeline has, and what it is here:
//
//	InverseProbabilityWeighting             IPW; with lambda_ ClippedIPW
//	SelfNormalizedInverseProbabilityWeighting SNIPW
//	SubGaussianInverseProbabilityWeighting  SubGaussianIPW
//	DirectMethod                            DM
//	DoublyRobust                            DR; with lambda_ ClippedDR
//	SelfNormalizedDoublyRobust              SNDR
//	SwitchDoublyRobust                      SwitchDR
//	DoublyRobustWithShrinkage               DRos
//	SubGaussianDoublyRobust                 SubGaussianDR
//	...Tuning                               the same with an L of 0
//	MarginalizedInverseProbabilityWeighting Log.Marginal, then any of them
//	ReplayMethod                            Replay
//	RegressionModel                         Log.CrossFit, then Evaluation.Model
//	estimate_confidence_interval_by_bootstrap Estimate.Low and High
//
// # How often the intervals hold the truth
//
// Estimate says how 95 % intervals are made. This is the share of 400 simulated logs of 300 decisions
// in which they hold the truth, by the rate of rewards, which are 0 or 1 (infinite ones count: at the
// rate .005 a fifth of the logs has no reward at all). The policy takes the first of 2 or 3
// candidates. The log takes one uniformly, or with propensities that begin at .01, or has 60 users of
// 5 decisions each. Rewards with a long tail, such as amounts of money, are covered less often.
//
//	                                   .005   .01   .03    .1    .3    .6
//	uniform choices   Mean            1.000  .997  .970  .982  .965  .955
//	                  IPW             1.000 1.000  .995  .980  .985  .950
//	                  SNIPW           1.000 1.000  .995  .985  .977  .957
//	                  SNIPW less Mean 1.000 1.000 1.000  .980  .967  .960
//	propensities .01  Mean            1.000 1.000  .972  .972  .967  .952
//	                  IPW             1.000 1.000 1.000  .992  .962  .960
//	                  SNIPW           1.000 1.000 1.000  .992  .982  .957
//	                  SNIPW less Mean 1.000 1.000 1.000  .997  .975  .965
//	60 users          Mean            1.000 1.000  .985  .972  .970  .972
//	                  IPW             1.000 1.000  .992  .992  .962  .970
//	                  SNIPW           1.000 1.000  .995  .990  .977  .957
//	                  SNIPW less Mean 1.000 1.000 1.000  .977  .955  .947
//	lognormal (σ = 1) SNIPW            .987  .970  .985  .995 1.000  .992
//
//	go test -run Coverage -v ./envs/logged
package logged
