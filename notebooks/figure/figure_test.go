package figure_test

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
)

// three is a result of three runs and two checkpoints.
func three(contender string) *sim.Result {
	return &sim.Result{
		Experiment: "toy", Contender: contender, Problem: "envs.Linear {}", Algorithm: "a {}",
		Runs: 3, Steps: 20, Seed: 5,
		Checkpoints: []int{10, 20},
		Regret:      [][]float64{{0.5, 1}, {1, 2}, {1.5, 3}},
		Reward:      [][]float64{{4, 10}, {5, 12}, {6, 14}},
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// At the last checkpoint the regrets are 1, 2 and 3: mean 2, standard
// deviation 1, and by tables of Student's t with 2 degrees of freedom (4.3027)
// a 95 % interval of 2 +- 4.3027/sqrt(3).
func TestAreaIsOneStandardDeviationOrTheInterval(t *testing.T) {
	p, err := figure.Regret([]*sim.Result{three("a")}, figure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "top of the area", p.Y.Max, 3)
	near(t, "bottom of the axis", p.Y.Min, 0)
	near(t, "end of the axis", p.X.Max, 20)
	p, err = figure.Regret([]*sim.Result{three("a")}, figure.Options{Interval: true})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "top of the interval", p.Y.Max, 2+4.3027/math.Sqrt(3))
}

func TestOneRunHasNoArea(t *testing.T) {
	r := three("a")
	r.Runs, r.Regret, r.Reward = 1, r.Regret[:1], r.Reward[:1]
	for _, opt := range []figure.Options{{}, {Interval: true}} {
		p, err := figure.Regret([]*sim.Result{r}, opt)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "top", p.Y.Max, 1)
		write(t, p)
	}
}

// Episodes of 10 steps: rewards 4, 5, 6 and then 6, 7, 8 in 10 steps each, so
// means of 0.5 and 0.7 with a standard deviation of 0.1. Episodes of 11 steps
// end at step 20: 10, 12, 14 in 20 steps, mean 0.6 and deviation 0.1.
func TestAverageRewardPerEpisode(t *testing.T) {
	for _, c := range []struct {
		episode   int
		low, high float64
	}{{1, 0.4, 0.8}, {10, 0.4, 0.8}, {11, 0.5, 0.7}, {20, 0.5, 0.7}} {
		p, err := figure.AverageReward([]*sim.Result{three("a")}, c.episode, figure.Options{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "bottom", p.Y.Min, c.low)
		near(t, "top", p.Y.Max, c.high)
	}
	for _, episode := range []int{0, -1, 21} {
		if _, err := figure.AverageReward([]*sim.Result{three("a")}, episode, figure.Options{}); err == nil {
			t.Errorf("an episode of %d of 20 steps was drawn", episode)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *sim.Result)
		want   []string
	}{
		{"problem", func(r *sim.Result) { r.Problem = "envs.Mixed {}" }, []string{`"a"`, `"b"`, "problem", "envs.Linear {}", "envs.Mixed {}"}},
		{"runs", func(r *sim.Result) { r.Runs, r.Regret, r.Reward = 2, r.Regret[:2], r.Reward[:2] }, []string{`"a"`, `"b"`, "runs 3", "has 2"}},
		{"steps", func(r *sim.Result) { r.Steps = 40 }, []string{`"a"`, `"b"`, "steps 20", "has 40"}},
		{"seed", func(r *sim.Result) { r.Seed = 6 }, []string{`"a"`, `"b"`, "seed 5", "has 6"}},
		{"twice", func(r *sim.Result) { r.Contender, r.Algorithm = "a", "other {}" }, []string{`"a"`, "a {}", "other {}"}},
		{"no oracle", func(r *sim.Result) { r.Regret = nil }, []string{`"b"`, "no regret"}},
		{"NaN", func(r *sim.Result) { r.Regret[1][0] = math.NaN() }, []string{`"b"`, "run 1", "step 10", "NaN"}},
		{"missing run", func(r *sim.Result) { r.Regret = r.Regret[:2] }, []string{`"b"`, "2 runs", "3 runs"}},
		{"missing checkpoint", func(r *sim.Result) { r.Regret[2] = r.Regret[2][:1] }, []string{`"b"`, "run 2", "1 values", "2 checkpoints"}},
	} {
		b := three("b")
		c.change(b)
		for _, f := range []func([]*sim.Result, figure.Options) (*plot.Plot, error){figure.Regret, figure.RegretLogLog} {
			_, err := f([]*sim.Result{three("a"), b}, figure.Options{})
			if err == nil {
				t.Errorf("%s: no error", c.name)
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q does not name %q", c.name, err, want)
				}
			}
		}
	}
	if _, err := figure.Regret(nil, figure.Options{}); err == nil {
		t.Error("nothing was drawn without an error")
	}
	zero := three("a")
	zero.Regret = [][]float64{{0, 0}, {0, 0}, {0, 0}}
	if _, err := figure.RegretLogLog([]*sim.Result{zero}, figure.Options{}); err == nil {
		t.Error("a regret of 0 was drawn on a logarithmic axis")
	}
}

// A line begins where its mean leaves 0, and an area that reaches below 0 (a
// standard deviation above the mean) is cut at the axis.
func TestLogLogAxes(t *testing.T) {
	r := three("a")
	r.Regret = [][]float64{{0, 0}, {0, 0}, {0, 9}}
	p, err := figure.RegretLogLog([]*sim.Result{r}, figure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "bottom", p.Y.Min, 3/1.5)
	near(t, "top", p.Y.Max, 3+math.Sqrt(27)) // deviations -3, -3, 6
	alone := write(t, p)

	// Who has no regret at all does not keep the others from being drawn.
	none := three("none")
	none.Regret = [][]float64{{0, 0}, {0, 0}, {0, 0}}
	p, err = figure.RegretLogLog([]*sim.Result{none, r}, figure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "bottom beside none", p.Y.Min, 3/1.5)
	if bytes.Equal(write(t, p), alone) {
		t.Error("a contender without regret is not told of")
	}
}

func TestSeriesErrors(t *testing.T) {
	ok := figure.Series{Name: "s", X: []float64{1, 2}, Y: []float64{3, 4}}
	x, y, ones := []float64{1, 2}, []float64{3, 4}, []float64{1, 1}
	for want, series := range map[string][]figure.Series{
		`no series to draw`:                                                           nil,
		`series "s" is empty`:                                                         {{Name: "s"}},
		`series "s" has 1 values of X for 2 of Y`:                                     {{Name: "s", X: x[:1], Y: y}},
		`series "s" has 1 error bars for 2 points`:                                    {{Name: "s", X: x, Y: y, Error: ones[:1]}},
		`series "s" has 1 lengths below for 2 error bars`:                             {{Name: "s", X: x, Y: y, Error: ones, Below: ones[:1]}},
		`series "s" has 2 lengths below for 0 error bars`:                             {{Name: "s", X: x, Y: y, Below: ones}},
		`series "t" cannot be drawn at point 1: Y is NaN`:                             {ok, {Name: "t", X: x, Y: []float64{3, math.NaN()}}},
		`series "s" cannot be drawn at point 0: X is 0, and its axis is logarithmic`:  {{Name: "s", Y: y}}, // X begins at 0
		`series "s" cannot be drawn at point 0: Y is -3, and its axis is logarithmic`: {{Name: "s", X: x, Y: []float64{-3, 4}}},
		`series "s" cannot be drawn at point 1: Error is +Inf`:                        {{Name: "s", X: x, Y: y, Error: []float64{1, math.Inf(1)}, Below: ones}},
		`series "s" cannot be drawn at point 1: Error is -1, want a length`:           {{Name: "s", X: x, Y: y, Error: []float64{1, -1}}},
		`series "s" cannot be drawn at point 0: Below is -2, want a length`:           {{Name: "s", X: x, Y: y, Error: ones, Below: []float64{-2, 0}}},
	} {
		if _, err := figure.Lines(series, figure.Axes{LogX: true, LogY: true}, figure.Options{}); err == nil || err.Error() != "figure: "+want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	if _, err := figure.Bars([]string{"x"}, []figure.Series{ok}, figure.Axes{}, figure.Options{}); err == nil {
		t.Error("two bars were drawn for one label")
	}
}

// An error bar that is longer above than below stays above 0.
func TestErrorBelow(t *testing.T) {
	s := figure.Series{Name: "s", Y: []float64{1}, Error: []float64{5}, Below: []float64{0.5}}
	p, err := figure.Bars([]string{"x"}, []figure.Series{s}, figure.Axes{}, figure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Y.Min != 0 || p.Y.Max < 6 || p.Y.Max > 7 {
		t.Errorf("the axis is [%v, %v]", p.Y.Min, p.Y.Max)
	}
}

func TestOnePointOnLogarithmicAxes(t *testing.T) {
	p, err := figure.Scatter([]figure.Series{{Name: "s", X: []float64{1}, Y: []float64{2}}}, figure.Axes{LogX: true, LogY: true}, figure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, p)
}

// A contender keeps the colour of the palette whoever stands beside it, and a
// name that the palette lacks takes a colour that nobody in the figure has.
func TestPaletteFixesColours(t *testing.T) {
	const blue, vermilion, green = 0x0072B2, 0xD55E00, 0x009E73
	palette := map[string]int{"a": 0, "b": 1}
	for _, c := range []struct {
		contenders []string
		want, not  []int
	}{
		{[]string{"b"}, []int{vermilion}, []int{blue, green}},
		{[]string{"b", "a"}, []int{vermilion, blue}, []int{green}},
		{[]string{"other", "b", "a"}, []int{vermilion, blue, green}, nil},
		{[]string{"other", "b"}, []int{vermilion, blue}, []int{green}},
	} {
		var results []*sim.Result
		for i, name := range c.contenders {
			r := three(name)
			for run := range r.Regret {
				r.Regret[run][1] += float64(9 * i)
			}
			results = append(results, r)
		}
		p, err := figure.Regret(results, figure.Options{Palette: palette})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		img, err := png.Decode(bytes.NewReader(write(t, p)))
		if err != nil {
			t.Fatal(err)
		}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				seen[int(r>>8<<16|g>>8<<8|b>>8)] = true
			}
		}
		for _, colour := range c.want {
			if !seen[colour] {
				t.Errorf("%v: no pixel has colour %06X", c.contenders, colour)
			}
		}
		for _, colour := range c.not {
			if seen[colour] {
				t.Errorf("%v: some pixel has colour %06X", c.contenders, colour)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axes     figure.Axes
		low, top float64
		want     string
	}{
		{figure.Axes{}, 0, 20000, "0|5,000|10,000|15,000|20,000"},
		{figure.Axes{}, -0.1, 0.5, "-0.1|0.0|0.1|0.2|0.3|0.4|0.5"},
		{figure.Axes{}, 0, 5e6, "0|1,000,000|2,000,000|3,000,000|4,000,000|5,000,000"},
		{figure.Axes{LogX: true}, 1, 20000, "1|10|100|1,000|10,000"},
		{figure.Axes{LogX: true}, 1, 64, "1|2|5|10|20|50"},
		{figure.Axes{LogX: true}, 0.013, 0.3, "0.02|0.05|0.1|0.2"},
	} {
		p, err := figure.Lines([]figure.Series{{Name: "s", X: []float64{1}, Y: []float64{1}}}, c.axes, figure.Options{})
		if err != nil {
			t.Fatal(err)
		}
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

func TestSave(t *testing.T) {
	p, err := figure.Regret([]*sim.Result{three("a")}, figure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "a.png")
	for range 2 { // a second time over the first
		if err := figure.Save(p, path, figure.Width, figure.Height); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	// 6.4 x 4 inches at 192 dots an inch, rounded up by one by vgimg.
	if config.Width < 1228 || config.Width > 1230 || config.Height != 768 {
		t.Errorf("the image is %d x %d", config.Width, config.Height)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files were left", len(files))
	}
	// A file stands where the folder should be.
	if err := figure.Save(p, filepath.Join(path, "b.png"), figure.Width, figure.Height); err == nil || !strings.Contains(err.Error(), "a.png") {
		t.Errorf("saving below a file: %v", err)
	}
}

func write(t *testing.T, p *plot.Plot) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := figure.Write(&b, p, 4*vg.Inch, 3*vg.Inch); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A reference earns 0.4, 0.5 or 0.6 a step in the first ten steps and 0.2 more in
// the last: 0.6 over all. Its line is level and has no area. Alone, it has a
// tenth of it above and below.
func TestReferenceIsLevel(t *testing.T) {
	p, err := figure.AverageReward([]*sim.Result{three("a")}, 10, figure.Options{References: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "bottom", p.Y.Min, 0.54)
	near(t, "top", p.Y.Max, 0.66)
	near(t, "end of the line", p.X.Max, 20)

	// Alone, too, it is called by its name; another line that is alone is what the
	// figure is of.
	named := func(name string, references ...string) []byte {
		p, err := figure.AverageReward([]*sim.Result{three(name)}, 10, figure.Options{References: references})
		if err != nil {
			t.Fatal(err)
		}
		return write(t, p)
	}
	if bytes.Equal(named("a", "a", "b"), named("b", "a", "b")) {
		t.Error("a reference that is alone has no name")
	}
	if !bytes.Equal(named("a", "c"), named("b", "c")) {
		t.Error("a key of one line that is no reference")
	}
}
