package kkbox

// Counts is the report without what two reports may differ in beyond what they
// show.
func (f FileReport) Counts() FileReport {
	f.wholeLanguages = 0
	return f
}
