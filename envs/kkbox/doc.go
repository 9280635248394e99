// Package kkbox has the data of the paper's music experiments (section 6.3): a
// reader of the files of the KKBox Music Recommendation Challenge, a writer of
// synthetic files of the same form, the features of a song, and the two
// simulators.
package kkbox
