package paper

import (
	"fmt"
	"math"

	"github.com/contextrec/contextrec/notebooks/figure"
)

// BiasSeries are the biases of p_hat over p, with 95 % intervals, for the agents
// of one setting, by pool; for figure.Scatter.
func (t *TheoryResult) BiasSeries(setting string) []figure.Series {
	var series []figure.Series
	first, last := math.Inf(1), math.Inf(-1)
	for i, b := range t.Bias {
		if of := t.BiasOf[i]; of.Agents == setting {
			appendPoint(seriesOf(&series, "rivals: "+string(of.Pool)), of.Marginal, b)
			first, last = math.Min(first, of.Marginal), math.Max(last, of.Marginal)
		}
	}
	return append(series, reference("unbiased", []float64{first, last}, []float64{0, 0}))
}

// CountedSeries are the shares of the times in which contexts were chosen over
// p; for figure.Scatter.
func (t *TheoryResult) CountedSeries() []figure.Series {
	counted := figure.Series{Name: "counted"}
	for _, c := range t.Counted {
		appendPoint(&counted, c.Marginal, c.Share)
	}
	return []figure.Series{counted, reference("share = p", []float64{0, 1}, []float64{0, 1})}
}

// CriticSeries are the ratios of the variances of the critic's updates over N,
// given a step and over the steps; for figure.Lines with logarithmic axes.
func (t *TheoryResult) CriticSeries() []figure.Series {
	var series []figure.Series
	for _, v := range t.Critic {
		addRatio(seriesOf(&series, "given the step, "+v.Setting), v)
	}
	for _, v := range t.CriticTotal {
		addRatio(seriesOf(&series, "over the steps, "+v.Setting), v)
	}
	return append(series, reference("1/N", []float64{1, 15}, []float64{1, 1.0 / 15}))
}

// ChosenSeries are the mean weights of chosen contexts in both critic updates
// over p; for figure.Scatter.
func (t *TheoryResult) ChosenSeries() []figure.Series {
	own, resampled := figure.Series{Name: "vanilla PG: nu"}, figure.Series{Name: "PGCR: p_hat, N = 1"}
	for _, c := range t.Chosen {
		appendPoint(&own, c.Marginal, c.OwnStep)
		appendPoint(&resampled, c.Marginal, c.Resampled)
	}
	return []figure.Series{own, resampled, reference("weight = p", []float64{0, 1}, []float64{0, 1})}
}

// HistorySeries are N*Var[p_hat]/Var[nu] over the length of the history, by
// N; for figure.Lines with a logarithmic axis of X.
func (t *TheoryResult) HistorySeries() []figure.Series {
	var series []figure.Series
	for _, h := range t.History {
		for i, v := range h.Variance {
			at := seriesOf(&series, fmt.Sprintf("N = %d", criticDraws[i]))
			at.X, at.Y = append(at.X, float64(h.Steps)), append(at.Y, v)
		}
	}
	return append(series, t.historyReference("lemma", 1))
}

// HistoryBiasSeries is the bias of p_hat in percent of p over the length of the
// history; for figure.Lines with a logarithmic axis of X.
func (t *TheoryResult) HistoryBiasSeries() []figure.Series {
	bias := figure.Series{Name: "p_hat, N = 1"}
	for _, h := range t.History {
		appendPoint(&bias, float64(h.Steps), Interval{100 * h.Bias.Mean, 100 * h.Bias.Low, 100 * h.Bias.High})
	}
	return []figure.Series{bias, t.historyReference("unbiased", 0)}
}

func (t *TheoryResult) historyReference(name string, y float64) figure.Series {
	first, last := t.History[0].Steps, t.History[len(t.History)-1].Steps
	return reference(name, []float64{float64(first), float64(last)}, []float64{y, y})
}

// ActorSeries are the ratios of the variances of the actor's updates over N in
// one setting, by variant; for figure.Lines with logarithmic axes.
func (t *TheoryResult) ActorSeries(setting string) []figure.Series {
	var series []figure.Series
	for _, v := range t.Ratios(setting) {
		if name := variantNames[v.Variant]; name != "" {
			addRatio(seriesOf(&series, name), v)
		}
	}
	return append(series, reference("theorem: at most 1", []float64{1, 15}, []float64{1, 1}))
}

// variantNames are those of the variants that were measured for every N.
var variantNames = map[string]string{
	"": "as in the paper", LessMean: "f less its mean", LessChosen: "f less mean of choices", Minibatch: "batch of 64", VariateBatch: "batch, ControlVariate",
}

// Ratios are all the ratios of the variances of actor updates in one setting.
func (t *TheoryResult) Ratios(setting string) []VarianceRatio {
	var out []VarianceRatio
	for _, list := range [][]VarianceRatio{t.Actor, t.ActorBeside} {
		for _, v := range list {
			if v.Setting == setting {
				out = append(out, v)
			}
		}
	}
	return out
}

// OffsetSeries are the ratios of the variances of the actor's updates over the
// offset of f, by N, with a line at the offset that the critics had; for
// figure.Lines with a logarithmic axis of Y.
func (t *TheoryResult) OffsetSeries() []figure.Series {
	var series []figure.Series
	low, high := 1.0, 1.0
	for _, o := range t.Offset {
		series = append(series, figure.Series{Name: fmt.Sprintf("N = %d", o.N), X: o.Offset, Y: o.Ratio})
		for _, r := range o.Ratio {
			low, high = math.Min(low, r), math.Max(high, r)
		}
	}
	x := t.Offset[0].Offset
	first, last := x[0], x[len(x)-1]
	return append(series,
		reference("theorem: at most 1", []float64{first, last}, []float64{1, 1}),
		reference("the critics' offset", []float64{t.MeanOffset, t.MeanOffset}, []float64{low, high}))
}

// seriesOf returns the series of that name, a new one at first.
func seriesOf(series *[]figure.Series, name string) *figure.Series {
	for i := range *series {
		if (*series)[i].Name == name {
			return &(*series)[i]
		}
	}
	*series = append(*series, figure.Series{Name: name})
	return &(*series)[len(*series)-1]
}

func appendPoint(s *figure.Series, x float64, y Interval) {
	s.X, s.Y, s.Error = append(s.X, x), append(s.Y, y.Mean), append(s.Error, (y.High-y.Low)/2)
}

// addRatio adds a ratio without its interval, which a logarithmic axis would
// show askew.
func addRatio(s *figure.Series, v VarianceRatio) {
	s.X, s.Y = append(s.X, float64(v.N)), append(s.Y, v.Ratio.Mean)
}

func reference(name string, x, y []float64) figure.Series {
	return figure.Series{Name: name, X: x, Y: y, Reference: true}
}
