package nb

import (
	"os"
	"path/filepath"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// Timings are the published timings of the benchmark, by where they are from.
func Timings() [][]paper.Timing {
	dir := os.Getenv("GONB_DIR")
	if dir == "" {
		dir = Must(os.Getwd())
	}
	root := Must(clone.Root(dir))
	return paper.TimingOrigins(Must(paper.StoredTimings(filepath.Join(root, filepath.FromSlash(paper.SpeedFolder)))))
}

// TimingTables shows where timings are from, and a table of each origin's.
func TimingTables(origins [][]paper.Timing) {
	for _, timings := range origins {
		Text(paper.TimingOrigin(timings[0]))
		Table(paper.TimingTable(timings))
	}
}

// UpdateBars shows how long an update of one run takes, of a shape of problem and
// networks, for each origin that has timings of it.
func UpdateBars(origins [][]paper.Timing, shape string) {
	for _, timings := range origins {
		labels, series := paper.UpdateBars(timings, shape)
		if len(series) == 0 {
			continue
		}
		p := Must(figure.Bars(labels, series, figure.Axes{Y: "microseconds, an update of a run"}, figure.Options{Title: shape}))
		Show(p, "Microseconds of an update of one run over the runs of a stack, by backend: "+shape+"; "+paper.TimingOrigin(timings[0]))
	}
}
