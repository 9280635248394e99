// Package paper declares the experiments of
//
//	Feiyang Pan, Qingpeng Cai, Pingzhong Tang, Fuzhen Zhuang, Qing He:
//	Policy Gradients for Contextual Recommendations. WWW 2019.
//
// one declaration a figure, and judges the paper's claims by their results.
// [Claims] says what each verdict rests on.
//
// Importing it decides where the networks are computed: by the pure Go backend,
// or by XLA in a program built with the tag xla.
package paper
