package pgcr_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/pgcr"
)

// eval runs a graph of float64 values and returns those of its results.
func eval(t testing.TB, graph func(in []*Node) []*Node, inputs ...any) (values [][]float64) {
	t.Helper()
	backend, err := pgcr.OpenBackend("")
	if err != nil {
		t.Fatal(err)
	}
	results, err := callOnce(backend, graph, inputs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		values = append(values, tensors.MustCopyFlatData[float64](r))
	}
	return values
}

// callOnce compiles a graph for one call.
func callOnce(backend compute.Backend, graph func(in []*Node) []*Node, inputs ...any) ([]*tensors.Tensor, error) {
	exec, err := NewExec(backend, graph)
	if err != nil {
		return nil, err
	}
	return exec.Call(inputs...)
}

func near(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-9*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: %.12g, want %.12g", what, got, want)
		}
	}
}

// Scores of 1, 2, 3 have probabilities of sixths, and squared of fourteenths.
func TestProbabilities(t *testing.T) {
	logs := []float64{0, math.Log(2), math.Log(3)}
	for _, c := range []struct {
		scores []float64
		kappa  float64
		want   []float64
	}{
		{logs, 1, []float64{1. / 6, 2. / 6, 3. / 6}},
		{logs, 2, []float64{1. / 14, 4. / 14, 9. / 14}},
		{logs, 0, []float64{1. / 3, 1. / 3, 1. / 3}},
		{[]float64{1e6, -1e6, 1e6}, 1e6, []float64{.5, 0, .5}},
		{[]float64{0, math.Log(2), pgcr.Absent}, 1, []float64{1. / 3, 2. / 3, 0}},
		{[]float64{-5, pgcr.Absent, pgcr.Absent}, 1e6, []float64{1, 0, 0}},
	} {
		got := eval(t, func(in []*Node) []*Node { return []*Node{pgcr.Probabilities(in[0], in[1])} }, c.scores, c.kappa)
		near(t, "probabilities", got[0], c.want)
	}
}

// A context with score 2 among others with 1 and 3, then 1 and 1, has 1/3 and 1/2;
// the mean over all nine pairs of 1, 2, 3 is the marginal probability itself.
func TestResampledProbabilities(t *testing.T) {
	estimate := func(sets ...[2]float64) float64 {
		var others [][]float64
		for _, s := range sets {
			others = append(others, []float64{math.Log(s[0]), math.Log(s[1])})
		}
		return eval(t, func(in []*Node) []*Node {
			return []*Node{pgcr.ResampledProbabilities(in[0], Reshape(in[1], 1, len(sets), 1, 2), ScalarOne(in[0].Graph(), in[0].DType()))}
		}, [][]float64{{math.Log(2)}}, others)[0][0]
	}
	near(t, "one set", []float64{estimate([2]float64{1, 3})}, []float64{1. / 3})
	near(t, "two sets", []float64{estimate([2]float64{1, 3}, [2]float64{1, 1})}, []float64{5. / 12})
	var nine [][2]float64
	want := 0.0
	for i := range 3 {
		for j := range 3 {
			a, b := float64(i+1), float64(j+1)
			nine = append(nine, [2]float64{a, b})
			want += 2 / (2 + a + b) / 9
		}
	}
	near(t, "nine sets", []float64{estimate(nine...)}, []float64{want})
}

// Two steps with weights 1/2 and 1/4, rewards 1 and 0, values 0.4: the loss is
// (0.5*0.36 + 0.25*0.16)/4 and its gradient by the values -0.15 and 0.05.
func TestCriticLoss(t *testing.T) {
	got := eval(t, func(in []*Node) []*Node {
		zero := ScalarZero(in[0].Graph(), in[0].DType())
		loss := pgcr.CriticLoss(in[0], pgcr.SarsaTarget(in[1], zero, in[2]), in[2])
		return append([]*Node{loss}, Gradient(loss, in[2], in[0], in[1])...)
	}, [][]float64{{.5, .25}}, [][]float64{{1, 0}}, [][]float64{{.4, .4}})
	near(t, "loss", got[0], []float64{.055})
	near(t, "by values", got[1], []float64{-.15, .05})
	near(t, "by weights", got[2], []float64{0, 0})
	near(t, "by rewards", got[3], []float64{0, 0})
	target := eval(t, func(in []*Node) []*Node { return []*Node{pgcr.SarsaTarget(in[0], in[1], in[2])} },
		[][]float64{{1, 2}}, [][]float64{{.9, 0}}, [][]float64{{10, 10}})
	near(t, "target", target[0], []float64{10, 2})
}

// Two sets of two contexts with equal scores; one context has value 1. Its score
// goes up by 1/2*1/4 and that of the other of its set down; an offset of the values
// of a set changes nothing.
func TestActorLoss(t *testing.T) {
	for _, offset := range []float64{0, 1000} {
		values := []float64{1 + offset, offset, -offset, -offset}
		got := eval(t, func(in []*Node) []*Node {
			p := pgcr.Probabilities(Reshape(in[0], 1, 1, 2, 2), ScalarOne(in[0].Graph(), in[0].DType()))
			return Gradient(pgcr.ActorLoss(p, Reshape(in[1], 1, 1, 2, 2)), in[0], in[1])
		}, []float64{.7, .7, .2, .2}, values)
		near(t, "by scores", got[0], []float64{-.125, .125, 0, 0})
		near(t, "by values", got[1], []float64{0, 0, 0, 0})
	}
}

// By hand: the first step is the rate, whatever the gradient; with gradients 1 and
// then 3, m = 0.39 and v = 0.009999, whose corrected quotient is
// (0.39/0.19)/sqrt(0.009999/0.001999).
func TestAdam(t *testing.T) {
	step := func(w, m, v, g, n float64) []float64 {
		got := eval(t, func(in []*Node) []*Node {
			w, m, v := pgcr.Adam(in[0], in[1], in[2], in[3], in[4], in[5])
			return []*Node{w, m, v}
		}, []float64{w}, []float64{m}, []float64{v}, []float64{g}, 0.01, n)
		return []float64{got[0][0], got[1][0], got[2][0]}
	}
	near(t, "first step", step(1, 0, 0, 1, 1), []float64{1 - 0.01/(1+1e-8), .1, .001})
	near(t, "second step", step(1, .1, .001, 3, 2), []float64{1 - 0.01*(.39/.19)/(math.Sqrt(.009999/.001999)+1e-8), .39, .009999})
}

func TestGreed(t *testing.T) {
	for _, c := range []struct {
		greed pgcr.Greed
		t     int64
		want  float64
	}{
		{pgcr.Greed{}, 1e9, 1},
		{pgcr.Greed{Rate: .01}, 50, 1},
		{pgcr.Greed{Rate: .01}, 250, 2.5},
		{pgcr.Greed{Rate: .01, Floor: pgcr.NoFloor}, 0, 0},
		{pgcr.Greed{Rate: .01, Cap: 3}, 1e6, 3},
	} {
		if got := c.greed.At(c.t); got != c.want {
			t.Errorf("%+v at step %d: %v, want %v", c.greed, c.t, got, c.want)
		}
	}
}

// A layer of two units by hand: contexts (1, 2) and (-1, 0), with 1 after each.
func TestNetworkForward(t *testing.T) {
	n := pgcr.Network{Dim: 2, Hidden: []int{2}, Bias: true}
	got := eval(t, func(in []*Node) []*Node {
		return []*Node{n.Forward(in[:3], in[3], nil), n.Forward(in[:3], in[3], in[4])}
	}, [][][]float64{{{1, 1, 0}, {-1, 0, .5}}}, [][][]float64{{{2, 10}}}, [][][]float64{{{.25}}},
		[][][]float64{{{1, -1}, {2, 0}, {1, 1}}}, [][][]float64{{{0, 2}}})
	near(t, "output", got[0], []float64{6.25, 15.25}) // 2*3 + 0, and 0 + 10*1.5
	near(t, "first unit dropped", got[1], []float64{.25, 30.25})

	for _, scale := range []float64{1, .1} {
		largest := float32(0)
		for _, w := range (pgcr.Network{Dim: 40, Hidden: []int{10}}).Init(rand.New(rand.NewPCG(1, 2)), scale)[0] {
			largest = max(largest, w, -w)
		}
		if limit := float32(scale / math.Sqrt(40)); largest > limit || largest < .9*limit {
			t.Errorf("scale %v: the largest initial weight is %v, want a little below %v", scale, largest, limit)
		}
	}
}
