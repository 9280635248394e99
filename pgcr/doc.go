// Package pgcr is the algorithm of
//
//	Feiyang Pan, Qingpeng Cai, Pingzhong Tang, Fuzhen Zhuang, Qing He:
//	Policy Gradients for Contextual Recommendations. WWW 2019.
//	https://doi.org/10.1145/3308558.3313616
package pgcr
