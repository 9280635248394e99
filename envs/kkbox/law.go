package kkbox

import (
	_ "embed"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// law.tsv has the published statistics that synthetic data is made to have: values of a field,
// their shares of the rows of train.csv, the means of the target, 0 where it is not known, and for
// fields of songs the shares by language, in the order of languages. Shares by language are ours,
// with about the published totals. At the end are a distribution function of the rows of a user,
// and the rows of songs by their rank of popularity.
//
//go:embed law.tsv
var lawText string

type field struct {
	values      []string
	share, mean []float64
	by          [][]float64 // shares of all values before one, and of all, by language or one for all
}

func readLaw() (law []*field) {
	last := ""
	for _, line := range strings.Split(strings.TrimSpace(lawText), "\n")[1:] {
		cells := strings.Split(line, "\t")
		shares := cells[2:3]
		if len(cells) > 4 {
			shares = cells[4:]
		}
		if cells[0] != last {
			last, law = cells[0], append(law, &field{by: slices.Repeat([][]float64{{0}}, len(shares))})
		}
		f := law[len(law)-1]
		f.values, f.share, f.mean = append(f.values, cells[1]), append(f.share, number(cells[2])), append(f.mean, number(cells[3]))
		for l, cell := range shares {
			f.by[l] = append(f.by[l], f.by[l][len(f.by[l])-1]+number(cell))
		}
	}
	return law
}

// draw is the level at a share q, 0 <= q < 1, of the shares in a language.
func (f *field) draw(language uint8, q float64) uint8 {
	shares := f.by[min(int(language), len(f.by)-1)]
	last := len(f.values) - 1
	return uint8(sort.Search(last, func(i int) bool { return shares[i+1] > q*shares[last+1] }))
}

// knots are the values and the shares of a field, each by a function.
func (f *field) knots(of func(float64) float64) (values, shares []float64) {
	for i, value := range f.values {
		values, shares = append(values, of(number(value))), append(shares, of(f.share[i]))
	}
	return values, shares
}

// interpolate is the value at x of the straight lines between knots.
func interpolate(x float64, xs, ys []float64) float64 {
	i := min(max(sort.SearchFloat64s(xs, x), 1), len(xs)-1)
	return ys[i-1] + (x-xs[i-1])/(xs[i]-xs[i-1])*(ys[i]-ys[i-1])
}

// number is a number of law.tsv; 0 for what is none.
func number(text string) float64 {
	x, _ := strconv.ParseFloat(text, 64)
	return x
}

// sums are over some rows, of probability p and variance p(1-p).
type sums struct{ n, p, v float64 }

func (s *sums) add(p float64) { s.n, s.p, s.v = s.n+1, s.p+p, s.v+p*(1-p) }

// step is Newton's towards a mean, no longer than 1.
func (s *sums) step(mean float64) float64 {
	return min(max((mean*s.n-s.p)/max(s.v, 1e-9), -1), 1)
}

// fit finds the probabilities of the rows. It makes the mean probability of a user's rows the user's
// rate, and that of the rows of a language, say, the published mean. Maximum likelihood sets these
// conditions for a logistic regression, and they are solved as such: by Newton's method, one field
// apart from another, damped because fields overlap.
func (g *generator) fit(rates []float64) {
	userTerm := make([]float64, len(rates))
	var terms [levels][256]float64
	for range 16 {
		users, shift := make([]sums, len(rates)), 0.
		var byLevel [levels][256]sums
		for i := range g.rows {
			row := &g.rows[i]
			x := row.base + userTerm[row.user]
			for f, k := range row.level {
				x += terms[f][k]
			}
			row.probability = sigmoid(x)
			users[row.user].add(row.probability)
			shift += (row.probability - rowMean) / float64(len(g.rows))
			for f, k := range row.level {
				byLevel[f][k].add(row.probability)
			}
		}
		for u := range users {
			userTerm[u] += users[u].step(rates[u])
		}
		for f := range terms {
			for k, mean := range g.law[f].mean {
				if mean != 0 { // it is shifted, for the mean of all rows is the users' part
					terms[f][k] = min(max(terms[f][k]+byLevel[f][k].step(mean+shift)/2, -3), 3)
				}
			}
		}
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
