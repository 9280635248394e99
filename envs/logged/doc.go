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
// One candidate is the chosen one. The propensity is the probability with which it was chosen. Of a
// folder of the Open Bandit Dataset, the click is the reward, and the user's features, the position, the
// affinity and the item are features. Of dsjson, -_label_cost is the reward, numbers in c and its
// _multi are features by the names that lead to them, text is a category, and 1/(1 - pdrop) the
// sampling weight. An item of a fixed catalogue is kept once.
//
// Features of a file of up to 1 GiB (Format.Keep) are kept: 4 bytes a value, or 12 bytes a value that is
// not 0 where there are categories. Those of a larger file are read from it again each time, at some 50
// MB a second. Then a decision among 10 candidates takes .5 kB while the file is read, .7 with estimates by
// weights and 1.5 with a model; with GOGC=25 .35, .5 and 1: 6 GB for 10 GB with 6 million decisions.
//
// # What can be estimated
//
// Only the chosen candidate has a reward. Evaluate weighs the decisions by 1/propensity, for a policy
// that has finished learning. No estimate knows what the logging policy could never choose. Decisions are
// taken to be independent of what was chosen before them. What the Open Bandit Pipeline has, and what it
// is here, to 1e-9 on the Open Bandit sample (OBD=FOLDER go test -run OpenBanditValues ./envs/logged):
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
// Relative errors on 20 logs as of the Pipeline's synthetic example (10,000 decisions among 30 items by
// a softmax of -3 times the truth, and a policy that is almost uniform), what the Pipeline publishes, and
// the standard deviation of that from log to log (go test -run RelativeErrors -v ./envs/logged):
//
//	        IPW    SNIPW   DM     DR     SNDR   DRos
//	ours    .0076   .0061  .063   .0060  .0059  .0058
//	theirs  .0095   .0067  .074   .0062  .0061  .022
//	sd      .0069   .0045  .025   .0042  .0040  .013
//
// # What Learning reaches
//
// On the learning example of the Open Bandit Pipeline (10,000 decisions among 10 items, whose
// features are Crossed with the user's) the log earns .424, and .800 is the optimum. An actor of
// pgcr.Config{InitScale: 1}, softmax (with Hidden []int{}) and the Pipeline earn, in the mean of five
// seeds, each in some 5 seconds (two cores):
//
//	             network: held-out, test   softmax: held-out, test   Pipeline
//	IPS                       .753  .771                 .746  .785     .7606
//	SNIPS                     .784  .789                 .764  .789
//	DR                        .791  .785                 .774  .788     .7733
//	DM                        .799  .795                 .800  .795     .7863
//	weighted likelihood       .766  .768                 .767  .789     .7933
//
// The penalty of the model, of 1, 3, 10, 30 and 100, and of each objective the actor's rate, of .003,
// .01 and .03, and Greedy or not, have the best held-out value: what is learned from one half of the
// training file is judged by DR on the other. Greedy was always better. Tests of earlier tries led to
// Crossed, Shift and softmax. OPL=FOLDER go test -run OpenBanditLearning -v -timeout 2h ./envs/logged
//
// # How often the intervals hold the truth
//
// This is the share of 1,000 simulated logs of 300 and of 3,000 decisions in which the 95 % intervals
// hold the truth, the lowest of the rates .005, .01, .03, .1, .3 and .6 of rewards, which are 0 or 1
// (infinite intervals count: at .005 a fifth of the short logs has no reward). The policy takes the first
// of 2 or 3 candidates, the log one uniformly, or with propensities that begin at .01, or of users of 5
// decisions each. Others have the intervals of IPW or DR. Rewards with a long tail (lognormal, σ = 1), such
// as money, are covered less often. Intervals of 20, 50 and 100 decisions are longer than they need be or
// infinite, and hold .96 and more, with a long tail .88 (DECISIONS=20 go test -run Coverage -v ./envs/logged):
//
//	                   300: uniform   .01   users   tail   3,000: uniform   .01   users   tail
//	the log's mean            .966   .964    .961   .899             .947   .950    .954   .931
//	SNIPW less that           .969   .967    .966   .997             .954   .952    .944   .988
//	IPW                       .970   .951    .955   .960             .948   .956    .952   .982
//	SNIPW                     .972   .969    .972   .962             .949   .954    .957   .980
//	DR                        .967   .964    .967   .960             .950   .953    .960   .978
//	SNDR                      .972   .966    .965   .961             .950   .948    .960   .978
package logged
