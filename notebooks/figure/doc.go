// Package figure turns results into plots of publication quality.
//
// Every function returns a *plot.Plot, so that the caller decides what becomes
// of it: a PNG file by Save, an image in a notebook, or another format by
// gonum's own means. Regret, RegretLogLog and AverageReward draw the results
// of experiments; Lines, Scatter and Bars draw computed series.
//
// The key stands to the right of the data, where it hides no line, and lists
// the contenders in the order in which their lines end, the highest on top.
// Colours are those of Okabe and Ito, which colour-blind readers can tell
// apart, and every one comes with its own dash pattern for print.
package figure
