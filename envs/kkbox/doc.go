// Package kkbox has the data of the paper's music experiments (section 6.1): a
// reader of the files of the KKBox Music Recommendation Challenge, a writer of
// synthetic files of the same form, the features of a song, and the two
// simulators.
//
// [Read] reads the files into a [Dataset], [Synthetic] writes a twin of them for
// all who do not have the real ones, [Encode] makes the 94 features of a song,
// and [MusicStateless] and [MusicState] play on a [Source], which is either data:
//
//	problem := kkbox.MusicState{Source: kkbox.Source{Folder: "kkbox", Unpacker: sevenzip.Unpacker{}}}
//	env, err := problem.New(seeds)
//
// [LabelOracle] and [ProbabilityOracle] look into the rows: they are lines to
// compare policies with.
package kkbox
