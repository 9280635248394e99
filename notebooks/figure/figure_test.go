package figure_test

import (
	"bytes"
	"compress/zlib"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
)

// three is a result of three runs and two checkpoints.
func three(entry string) *sim.Result {
	return &sim.Result{
		Experiment: "toy", Entry: entry, Problem: "envs.Linear {}", Algorithm: "a {}",
		Runs: 3, Steps: 20, Seed: 5,
		Checkpoints: []int{10, 20},
		Regret:      [][]float64{{0.5, 1}, {1, 2}, {1.5, 3}},
		Reward:      [][]float64{{4, 10}, {5, 12}, {6, 14}},
	}
}

// drawn(t)(p, err) is a plot that could be drawn, and its image.
func drawn(t *testing.T) func(*plot.Plot, error) (*plot.Plot, []byte) {
	return func(p *plot.Plot, err error) (*plot.Plot, []byte) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := figure.Write(&b, "png", 4*vg.Inch, 3*vg.Inch, 1, p); err != nil {
			t.Fatal(err)
		}
		return p, b.Bytes()
	}
}

// top checks where an axis ends without the 4 % of its length that it is widened
// by.
func top(t *testing.T, a plot.Axis, low, high float64) {
	t.Helper()
	if air := 0.04 * (high - low); math.Abs(a.Max-high-air) > 1e-3 {
		t.Errorf("the axis ends at %v, want %v and %v more", a.Max, high, air)
	}
}

// At the last checkpoint the regrets are 1, 2 and 3: mean 2, standard
// deviation 1, and by tables of Student's t with 2 degrees of freedom (4.3027)
// a 95 % interval of 2 +- 4.3027/sqrt(3).
// (The first checkpoint has mean 1 and deviation 0.5.)
func TestArea(t *testing.T) {
	p, _ := drawn(t)(figure.Regret([]*sim.Result{three("a")}, figure.Options{}))
	top(t, p.Y, 0.5, 3)
	if p.Y.Min != 0 || p.X.Min != 0 || p.X.Max != 20 {
		t.Errorf("the axes begin at %v and %v, that of steps ends at %v", p.X.Min, p.Y.Min, p.X.Max)
	}
	p, _ = drawn(t)(figure.Regret([]*sim.Result{three("a")}, figure.Options{Interval: true}))
	half := 4.3027 / math.Sqrt(3)
	top(t, p.Y, 2-half, 2+half)
	rounded := three("b") // a difference by rounding is none
	rounded.Regret[0][1] = math.Nextafter(rounded.Regret[0][1], 10)
	_, same := drawn(t)(figure.Difference([]*sim.Result{three("a"), three("b")}, "a", figure.Options{}))
	if _, nearly := drawn(t)(figure.Difference([]*sim.Result{three("a"), rounded}, "a", figure.Options{})); !bytes.Equal(nearly, same) {
		t.Error("a difference by rounding is drawn")
	}
	equal := three("a") // runs that are equal to rounding have no interval
	equal.Regret = [][]float64{{1, 0.3}, {2, 0.3}, {3, 0.1 + 0.2}}
	p, _ = drawn(t)(figure.Regret([]*sim.Result{equal}, figure.Options{Interval: true}))
	top(t, p.Y, 2-half, 2+half)
	one := three("a")
	one.Runs, one.Regret, one.Reward = 1, one.Regret[:1], one.Reward[:1]
	p, _ = drawn(t)(figure.Regret([]*sim.Result{one}, figure.Options{Interval: true}))
	top(t, p.Y, 0.5, 1)
}

// Episodes of 10 steps: rewards 4, 5, 6 and then 6, 7, 8 in 10 steps each, so
// means of 0.5 and 0.7 with a standard deviation of 0.1. Episodes of 11 steps
// end at step 20: 10, 12, 14 in 20 steps, mean 0.6 and deviation 0.1. As a
// reference the result is level at 0.6.
func TestAverageReward(t *testing.T) {
	for _, c := range []struct {
		episode   int
		low, high float64
	}{{1, 0.4, 0.8}, {10, 0.4, 0.8}, {11, 0.5, 0.7}, {20, 0.5, 0.7}} {
		p, _ := drawn(t)(figure.AverageReward([]*sim.Result{three("a")}, c.episode, figure.Options{}))
		top(t, p.Y, c.low, c.high)
	}
	if _, err := figure.AverageReward([]*sim.Result{three("a")}, 21, figure.Options{}); err == nil {
		t.Error("an episode of 21 of 20 steps was drawn")
	}
	p, _ := drawn(t)(figure.AverageReward([]*sim.Result{three("a")}, 10, figure.Options{References: []string{"a"}}))
	if math.Abs(p.Y.Min-0.57) > 1e-9 || math.Abs(p.Y.Max-0.63) > 1e-9 { // a twentieth around 0.6
		t.Errorf("the axis of a level line is [%v, %v]", p.Y.Min, p.Y.Max)
	}
}

func TestRefusals(t *testing.T) {
	for want, change := range map[string]func(r *sim.Result){
		"problem envs.Mixed":  func(r *sim.Result) { r.Problem = "envs.Mixed {}" },
		"2 runs":              func(r *sim.Result) { r.Runs = 2 },
		"40 steps":            func(r *sim.Result) { r.Steps = 40 },
		"seed 6":              func(r *sim.Result) { r.Seed = 6 },
		`are called "a"`:      func(r *sim.Result) { r.Entry = "a" },
		`"b" of "toy" has no`: func(r *sim.Result) { r.Regret = nil },
		"point 0 is NaN":      func(r *sim.Result) { r.Regret[1][0] = math.NaN() },
	} {
		b := three("b")
		change(b)
		if _, err := figure.Regret([]*sim.Result{three("a"), b}, figure.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
	if _, err := figure.Regret(nil, figure.Options{}); err == nil {
		t.Error("nothing was drawn without an error")
	}
}

// A line begins where its median leaves 0: regrets 0, 2, 9 have the median 2 and,
// between 2 and 9, the ninetieth percentile 2+0.8*7. Without the log scale's air the
// axis begins at the lowest median over 1.5.
func TestLogLog(t *testing.T) {
	r := three("a")
	r.Regret = [][]float64{{0, 0}, {0, 2}, {0, 9}}
	p, alone := drawn(t)(figure.RegretLogLog([]*sim.Result{r}, figure.Options{}))
	if math.Abs(p.Y.Min-2/1.5) > 1e-9 || math.Abs(p.Y.Max-7.6) > 1e-9 {
		t.Errorf("the axis is [%v, %v]", p.Y.Min, p.Y.Max)
	}
	none := three("none")
	none.Regret = [][]float64{{0, 0}, {0, 0}, {0, 0}}
	if _, both := drawn(t)(figure.RegretLogLog([]*sim.Result{none, r}, figure.Options{})); bytes.Equal(both, alone) {
		t.Error("a result without regret is not mentioned")
	}
	if _, err := figure.RegretLogLog([]*sim.Result{none}, figure.Options{}); err == nil {
		t.Error("a regret of 0 was drawn on a logarithmic axis")
	}
}

// Regrets less those of the named result: 0 for itself, and for one with 1, 2, 3
// more at the end a mean of 2 with the interval 2 +- 4.3027/sqrt(3).
func TestDifference(t *testing.T) {
	b := three("b")
	b.Regret = [][]float64{{0.5, 2}, {1, 4}, {1.5, 6}}
	p, _ := drawn(t)(figure.Difference([]*sim.Result{three("a"), b}, "a", figure.Options{}))
	half := 4.3027 / math.Sqrt(3)
	top(t, p.Y, 2-half, 2+half)
	rounded := three("b") // a difference by rounding is none
	rounded.Regret[0][1] = math.Nextafter(rounded.Regret[0][1], 10)
	_, same := drawn(t)(figure.Difference([]*sim.Result{three("a"), three("b")}, "a", figure.Options{}))
	if _, nearly := drawn(t)(figure.Difference([]*sim.Result{three("a"), rounded}, "a", figure.Options{})); !bytes.Equal(nearly, same) {
		t.Error("a difference by rounding is drawn")
	}
	if _, err := figure.Difference([]*sim.Result{b}, "a", figure.Options{}); err == nil || !strings.Contains(err.Error(), `no result of "a"`) {
		t.Errorf("without the reference: %v", err)
	}
	none := three("c")
	none.Regret = nil
	if _, err := figure.Difference([]*sim.Result{b, none}, "c", figure.Options{}); err == nil || !strings.Contains(err.Error(), `no result of "c" that has a regret`) {
		t.Errorf("from one without regret: %v", err)
	}
	b.Runs, b.Regret = 2, b.Regret[:2]
	if _, err := figure.Difference([]*sim.Result{three("a"), b}, "b", figure.Options{}); err == nil || !strings.Contains(err.Error(), "2 runs") {
		t.Errorf("of other runs: %v", err)
	}
}

func TestSeriesErrors(t *testing.T) {
	x, y := []float64{1, 2}, []float64{3, 4}
	for want, series := range map[string][]figure.Series{
		`no series to draw`:                                  nil,
		`there is nothing to draw`:                           {{Name: "s"}},
		`series "s" has 1 values of X for 2 of Y`:            {{Name: "s", X: x[:1], Y: y}},
		`series "s" has 1 values of Error for 2 of Y`:        {{Name: "s", X: x, Y: y, Error: x[:1]}},
		`series "t" cannot be drawn: Y of point 1 is NaN`:    {{Name: "s", X: x, Y: y}, {Name: "t", X: x, Y: []float64{3, math.NaN()}}},
		`series "s" cannot be drawn: X of point 0 is 0`:      {{Name: "s", Y: y}}, // X begins at 0
		`series "s" cannot be drawn: Error of point 1 is -1`: {{Name: "s", X: x, Y: y, Error: []float64{1, -1}}},
		`series "s" cannot be drawn: High of point 0 is NaN`: {{Name: "s", X: x, Y: y, Low: x, High: []float64{math.NaN(), 1}}},
		`series "s" has one of Low and High`:                 {{Name: "s", X: x, Y: y, Low: x}},
		`series "s" cannot be drawn: Y of point 0 is -3`:     {{Name: "s", X: x, Y: []float64{-3, 4}}},
	} {
		axes := figure.Axes{LogX: true, LogY: true}
		if _, err := figure.Lines(series, axes, figure.Options{}); err == nil || !strings.HasPrefix(err.Error(), "figure: "+want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// Every pair of numbers can be drawn, on all axes, and the labels of the ticks differ.
// Two numbers below 1e-300 may have none.
func FuzzAxes(f *testing.F) {
	for _, y := range [][2]float64{
		{0, 0}, {3, 3}, {-5, -5}, {1e6, 1e6 + 1e-3}, {0.3, 0.1 + 0.2}, {1, 1 + 1e-8}, {1e-300, 2e-300}, {5e-324, 0}, {-1e300, 1e300}, {1e12, 3e12},
		{5e-324, 5e-324}, {5e-324, 1e300}, {-math.MaxFloat64, math.MaxFloat64}, {math.MaxFloat64, math.MaxFloat64}, {1, 10}, {1, 1}, {math.NaN(), math.Inf(1)},
	} {
		f.Add(y[0], y[1], 0.0)
		f.Add(y[0], y[1], y[1])
	}
	f.Fuzz(func(t *testing.T, a, b, e float64) {
		e = math.Abs(e)
		series := []figure.Series{{Name: "s", X: []float64{a, b}, Y: []float64{a, b}, Error: []float64{e, 0}, Low: []float64{a - e, b}, High: []float64{a + e, b}}}
		for kind, draw := range []func() (*plot.Plot, error){
			func() (*plot.Plot, error) { return figure.Lines(series, figure.Axes{}, figure.Options{}) },
			func() (*plot.Plot, error) {
				return figure.Lines(series, figure.Axes{LogX: true, LogY: true}, figure.Options{})
			},
			func() (*plot.Plot, error) {
				return figure.Bars([]string{"a", "b"}, series, figure.Axes{}, figure.Options{})
			},
		} {
			p, err := draw()
			if can := !math.IsNaN(a-a+b-b+min(e, 1)) && (kind != 1 || min(a, b) > 0); can != (err == nil) {
				t.Errorf("kind %d: the error is %v", kind, err)
			}
			if err != nil {
				continue
			}
			var b bytes.Buffer
			if err := figure.Write(&b, "svg", 4*vg.Inch, 3*vg.Inch, 1, p); err != nil || bytes.Contains(b.Bytes(), []byte("NaN")) || bytes.Contains(b.Bytes(), []byte("Inf")) {
				t.Errorf("kind %d: %v\n%s", kind, err, b.Bytes())
			}
			seen, labels := map[string]bool{}, 0
			for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
				if !tick.IsMinor() {
					seen[tick.Label] = true
					labels++
				}
			}
			if p.Y.Max > 1e-290 && labels < 2 || labels > 15 || len(seen) != labels {
				t.Errorf("kind %d: %d labels %v on [%v, %v]", kind, labels, seen, p.Y.Min, p.Y.Max)
			}
		}
	})
}

// Regrets of 2, 2, 2 and 30 at the end: the last leaves the figure, whose axis ends at five times
// the median, and the key says so; of 9 none does.
func TestFarLine(t *testing.T) {
	for last, most := range map[float64]float64{30: 10, 9: 12} { // the latter of mean and deviation
		results := []*sim.Result{three("a"), three("b"), three("c"), three("d")}
		results[3].Regret = [][]float64{{1, last - 3}, {1, last}, {1, last + 3}}
		p, _ := drawn(t)(figure.Regret(results, figure.Options{}))
		top(t, p.Y, 0.5, most)
		var svg bytes.Buffer
		if err := figure.Write(&svg, "svg", figure.Width, figure.Height, 1, p); err != nil || strings.Contains(svg.String(), ">d (to 30.0)<") != (most == 10) {
			t.Errorf("of a line to %v the key does not say so, %v", last, err)
		}
	}
}

// In two columns of a notebook, labels of the steps do not touch.
func TestLabelsOfColumns(t *testing.T) {
	r := three("epsilon-greedy")
	r.Steps, r.Checkpoints = 20_000, []int{200, 20_000}
	other := *r
	other.Entry = "PGCR, untuned"
	p, _ := drawn(t)(figure.RegretLogLog([]*sim.Result{r, &other}, figure.Options{}))
	var svg bytes.Buffer
	if err := figure.Write(&svg, "svg", 9.6*vg.Inch, 3.2*vg.Inch, 2, p, p); err != nil {
		t.Fatal(err)
	}
	var ends vg.Length // of the last label
	found := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>([0-9,]+000)<`).FindAllStringSubmatch(svg.String(), -1)
	for i, label := range found {
		x, _ := strconv.ParseFloat(label[1], 64)
		if i%(len(found)/2) > 0 && vg.Length(x) < ends+vg.Points(2) {
			t.Errorf("%s begins at %v, the label before it ends at %v", label[2], x, ends)
		}
		ends = vg.Length(x) + p.X.Tick.Label.Width(label[2])
	}
	if len(found) != 10 {
		t.Errorf("labels are %q", found)
	}
}

// What lies above an axis is cut off, not drawn along its end.
func TestCutOff(t *testing.T) {
	p, err := figure.Lines([]figure.Series{{Name: "s", X: []float64{0, 1, 2}, Y: []float64{0, 10, 10}, Low: []float64{0, 10, 10}, High: []float64{0, 10, 10}}}, figure.Axes{}, figure.Options{})
	if err == nil {
		p.Y.Max = 5
	}
	_, data := drawn(t)(p, err)
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for y := range img.Bounds().Dy() {
		for x := img.Bounds().Dx() / 2; x < img.Bounds().Dx(); x++ {
			if r, g, b, _ := img.At(x, y).RGBA(); r>>8 == 0 && g>>8 == 0x72 && b>>8 == 0xB2 {
				t.Fatalf("the line is at %d, %d", x, y)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		log      bool
		low, top float64
		want     string
	}{
		{false, 0, 20000, "0|5,000|10,000|15,000|20,000"},
		{false, -0.1, 0.5, "-0.1|0.0|0.1|0.2|0.3|0.4|0.5"},
		{true, 1, 20000, "1|10|100|1,000|10,000"},
		{true, 1, 64, "1|2|5|10|20|50"},
		{true, 0.013, 0.3, "0.02|0.05|0.1|0.2"},
		{true, 0.92, 8.7, "1|2|3|4|5|6|8"},
		{true, 0.12, 1.08, "0.2|0.3|0.4|0.5|0.6|0.8|1"},
		{true, 2000, 9000, "2,000|5,000"},
	} {
		p, _ := drawn(t)(figure.Lines([]figure.Series{{Name: "s", X: []float64{1}, Y: []float64{1}}}, figure.Axes{LogX: c.log}, figure.Options{}))
		var labels []string
		for _, tick := range p.X.Tick.Marker.Ticks(c.low, c.top) {
			if !tick.IsMinor() {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, "|"); got != c.want {
			t.Errorf("[%v, %v] has %s, want %s", c.low, c.top, got, c.want)
		}
	}
}

// An algorithm keeps its colour beside any others, and a name without one takes a
// colour that no other has in the figure. Two entries of a ramp are light and dark.
// Of lines that lie on each other, all are seen.
func TestColours(t *testing.T) {
	const blue, vermilion, light, dark, pink, red = 0x0072B2, 0xD55E00, 0x8FC1E3, 0x082A63, 0xCC79A7, 0x8B0000
	for _, c := range []struct {
		names []string
		apart float64
		opt   figure.Options
		want  []int
		not   []int
	}{
		{[]string{"PGCR", "Lin-UCB", "Thompson"}, 0, figure.Options{}, []int{blue, red, pink}, nil},
		{[]string{"Thompson", "Lin-UCB", "PGCR"}, 0, figure.Options{}, []int{blue, red, pink}, nil},
		{[]string{"epsilon-greedy"}, 9, figure.Options{}, []int{vermilion}, []int{blue}},
		{[]string{"other", "epsilon-greedy"}, 9, figure.Options{}, []int{vermilion, blue}, nil},
		{[]string{"PGCR", "epsilon-greedy"}, 9, figure.Options{}, []int{vermilion, blue}, nil},
		{[]string{"PGCR", "other"}, 9, figure.Options{Ramp: []string{"other", "PGCR"}}, []int{light, dark}, []int{blue}},
		{[]string{"PGCR, ours", "other"}, 9, figure.Options{}, []int{dark, blue}, nil},
		{[]string{"Lin-UCB, tuned", "other"}, 9, figure.Options{}, []int{red, blue}, nil},
		{[]string{"PGCR", "PGCR, gamma 0.9"}, 9, figure.Options{}, []int{blue}, []int{vermilion}},
		{[]string{"PGCR"}, 9, figure.Options{References: []string{"PGCR"}}, nil, []int{blue}},
	} {
		var results []*sim.Result
		for i, name := range c.names {
			r := three(name)
			for run := range r.Regret {
				r.Regret[run][1] += c.apart * float64(i)
			}
			results = append(results, r)
		}
		_, data := drawn(t)(figure.Regret(results, c.opt))
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() * 3 / 5 { // without the key
				r, g, b, _ := img.At(x, y).RGBA()
				seen[int(r>>8<<16|g>>8<<8|b>>8)] = true
			}
		}
		for i, colour := range append(c.want, c.not...) {
			if seen[colour] != (i < len(c.want)) {
				t.Errorf("%v: colour %06X is there: %v", c.names, colour, seen[colour])
			}
		}
	}
}

// The extension decides what a file holds.
func TestSave(t *testing.T) {
	p, err := figure.Regret([]*sim.Result{three("a"), three("b")}, figure.Options{Title: "a ± b"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	for name, begins := range map[string]string{"a.png": "\x89PNG", "a.svg": "<?xml", "a.PDF": "%PDF-"} {
		path := filepath.Join(dir, name)
		if err := figure.Save(p, path, figure.Width, figure.Height); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), begins) {
			t.Errorf("%s: %v, it begins with %.8q", name, err, data)
		}
	}
	var narrow bytes.Buffer // half of 5.6 inches: all has half the size
	if err := figure.Write(&narrow, "svg", 2.8*vg.Inch, 2*vg.Inch, 1, p); err != nil || !strings.Contains(narrow.String(), "scale(0.5,0.5)") || !strings.Contains(narrow.String(), "sans-serif") {
		t.Errorf("a narrow page: %v, it begins with %.300s", err, narrow.String())
	}
	// The PDF file has ± in Windows-1252, and no colour multiplied by its alpha.
	file, _ := os.ReadFile(filepath.Join(dir, "a.PDF"))
	var page []byte
	for _, stream := range bytes.Split(file, []byte("stream\n")) {
		if r, err := zlib.NewReader(bytes.NewReader(stream)); err == nil {
			text, _ := io.ReadAll(r)
			page = append(page, text...)
		}
	}
	if !bytes.Contains(page, []byte("(a \xb1 b)")) || !bytes.Contains(page, []byte("0.835 0.369 0.000 rg")) || bytes.Contains(page, []byte("0.122 0.055 0.000 rg")) {
		t.Errorf("the PDF file has the page\n%s", page)
	}
	for _, name := range []string{"a.jpg", "a", "a.png/b.png"} {
		if err := figure.Save(p, filepath.Join(dir, name), figure.Width, figure.Height); err == nil {
			t.Errorf("%s was saved", name)
		}
	}
}
