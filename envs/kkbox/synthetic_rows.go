package kkbox

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/contextrec/contextrec/envs"
)

// synthetic is a set in the making. Rows are by user here, whose first one in
// the slices of rows is first[user], and get their places in the files by order.
type synthetic struct {
	Synthetic
	*catalogue

	users   []syntheticUser // those of train.csv and then those of test.csv alone
	sources []source

	train, test rows
	probability []float32 // of the rows of train
	target      []bool
}

// rows are those of train.csv or test.csv.
type rows struct {
	first  []int32 // [users + 1]
	song   []int32
	source []uint16
	order  []int32 // the rows in the order of time
}

func newRows(users, n int) rows {
	return rows{first: make([]int32, 1, users+1), song: make([]int32, 0, n), source: make([]uint16, 0, n)}
}

type syntheticUser struct {
	rows, testRows int
	rate           float64 // mean probability of the user's rows in train.csv
	taste          [traits]float32
	start          float64 // when the user joins, where train.csv lasts from 0 to 1
}

// source is a triple of positions in the tables of types, tabs and screens.
type source struct{ kind, tab, screen uint8 }

func (s Synthetic) rand(role string) *rand.Rand { return envs.NewRand(s.Seed, "kkbox/"+role) }

// draw makes all that the files are written from.
func (s Synthetic) draw(ctx context.Context) (*synthetic, error) {
	set := &synthetic{Synthetic: s}
	for _, part := range []func(){func() { set.catalogue = s.drawCatalogue() }, set.drawUsers, set.drawRows, set.drawTargets} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part()
	}
	return set, nil
}

// drawUsers spreads the numbers of rows evenly over their law, so that a small
// set has the shape of a large one, and shifts the rates until the row-weighted
// mean is the published one.
func (s *synthetic) drawUsers() {
	rng := s.rand("users")
	most := len(s.fields) / 3
	place := rng.Perm(s.Users)
	s.users = make([]syntheticUser, s.Users+int(math.Round(lateUserShare*float64(s.Users))))
	onTrial := make([]bool, s.Users)
	for i := range s.users {
		u := &s.users[i]
		for j := range u.taste {
			u.taste[j] = float32(rng.NormFloat64())
		}
		if i >= s.Users {
			u.testRows = min(most, max(1, int(math.Round(lateUserRows*rowsOfUser(rng.Float64())))))
			continue
		}
		u.rows = min(most, max(1, int(math.Round(rowsOfUser((float64(place[i])+.5)/float64(s.Users))))))
		if rng.Float64() < testUserShare {
			share := testRowShare / testUserShare * (1 - lateUserShare*lateUserRows/testRowShare)
			u.testRows = min(most, max(1, int(math.Round(2*rng.Float64()*share*float64(u.rows)))))
		}
		if rng.Float64() < .25 {
			u.start = rng.Float64()
		}
		n := float64(u.rows)
		if onTrial[i] = rng.Float64() < trialShare(n); onTrial[i] {
			u.rate = beta(rng, .15, 3)
		} else {
			m := rateMean(n)
			k := ratePrecision(n)
			u.rate = beta(rng, m*k, (1-m)*k)
		}
		u.rate = min(max(u.rate, .001), .999)
	}

	// In the logit, by Newton's method; users on trial stay as they are.
	for range 8 {
		var excess, slope float64
		for i, u := range s.users[:s.Users] {
			excess += float64(u.rows) * (u.rate - rowMean)
			if !onTrial[i] {
				slope += float64(u.rows) * u.rate * (1 - u.rate)
			}
		}
		if slope == 0 {
			break
		}
		shift := min(max(excess/slope, -.5), .5)
		for i := range s.users[:s.Users] {
			if u := &s.users[i]; !onTrial[i] {
				u.rate = min(max(sigmoid(logit(u.rate)-shift), .001), .999)
			}
		}
	}
}

// Concentrations of the mixes of sources and languages of a user around their
// shares, and how far users who listen again more go to their own library.
const (
	sourceConcentration   = 3
	languageConcentration = 3
	sourceTilt            = .45
	favouriteShare        = .25 // rows from artists whom the user likes
)

// drawRows draws what each user hears, and where. A user hears no song twice.
func (s *synthetic) drawRows() {
	rng := s.rand("rows")
	draw := newSongDraw(s.catalogue)

	sourceMix := s.mixes(rng, sourceConcentration, shares(typeLevels), func(u *syntheticUser, k int) float64 {
		if typeLevels[k].mean == 0 {
			return 1
		}
		return math.Exp(sourceTilt * min(max(logit(u.rate), -2), 2) * (logit(typeLevels[k].mean)))
	})
	languageMix := s.mixes(rng, languageConcentration, shares(languageLevels), func(*syntheticUser, int) float64 { return 1 })

	var places []placesOf
	s.sources, places = allSources()
	tabs, screens := diceOf(tabLevels), diceOf(screenLevels)
	strange := map[source]uint16{}

	heardBy := make([]int32, len(s.fields)) // the user, from 1, who heard the song last
	var trainRows, testRows int
	for i := range s.users {
		trainRows += s.users[i].rows
		testRows += s.users[i].testRows
	}
	s.train, s.test = newRows(len(s.users), trainRows), newRows(len(s.users), testRows)
	trainTime, testTime := make([]float64, 0, trainRows), make([]float64, 0, testRows)
	for i := range s.users {
		u := &s.users[i]
		kinds, tongues := newDice(sourceMix[i]), newDice(languageMix[i])
		favourites := s.favourites(rng, draw, tongues, u)
		one := func() (song int32, from uint16) {
			song = -1
			if len(favourites) > 0 && rng.Float64() < favouriteShare {
				song = draw.ofArtist(rng, favourites[rng.IntN(len(favourites))])
			}
			for try := 0; song < 0 || heardBy[song] == int32(i+1); try++ {
				switch {
				case try < 10:
					song = draw.ofLanguage(rng, int(tongues.roll(rng)))
				case try < 20:
					song = draw.ofLanguage(rng, rng.IntN(len(languageLevels)))
				default:
					song = int32(rng.IntN(len(heardBy)))
				}
			}
			heardBy[song] = int32(i + 1)

			kind := kinds.roll(rng)
			if rng.Float64() < .002 {
				// A few rows in unlikely places: there are 513 different triples
				// and more in the real file.
				src := source{kind, tabs.roll(rng), screens.roll(rng)}
				number, ok := strange[src]
				if !ok {
					number = uint16(len(s.sources))
					strange[src] = number
					s.sources = append(s.sources, src)
				}
				return song, number
			}
			p := places[kind]
			return song, p.first + uint16(p.dice.roll(rng))
		}
		for range u.rows {
			song, from := one()
			s.train.song, s.train.source = append(s.train.song, song), append(s.train.source, from)
			trainTime = append(trainTime, u.start+(1-u.start)*rng.Float64())
		}
		for range u.testRows {
			song, from := one()
			s.test.song, s.test.source = append(s.test.song, song), append(s.test.source, from)
			testTime = append(testTime, rng.Float64())
		}
		s.train.first = append(s.train.first, int32(len(s.train.song)))
		s.test.first = append(s.test.first, int32(len(s.test.song)))
	}
	s.train.order, s.test.order = sorted(trainTime), sorted(testTime)
}

// favourites are artists of songs that the user might have drawn, each the one
// of two that is more to the user's taste.
func (s *synthetic) favourites(rng *rand.Rand, draw *songDraw, tongues dice, u *syntheticUser) []int32 {
	var all []int32
	for range 2 + (u.rows+u.testRows)/40 {
		a := s.artist[draw.ofLanguage(rng, int(tongues.roll(rng)))]
		b := s.artist[draw.ofLanguage(rng, int(tongues.roll(rng)))]
		if draw.liking(u, a) < draw.liking(u, b) {
			a = b
		}
		if a != 0 {
			all = append(all, a)
		}
	}
	return all
}

// sorted returns the positions of the times, earliest first.
func sorted(times []float64) []int32 {
	keys := make([]uint64, len(times))
	for i, t := range times {
		keys[i] = uint64(t*(1<<32))<<32 | uint64(i)
	}
	slices.Sort(keys)
	order := make([]int32, len(keys))
	for i, k := range keys {
		order[i] = int32(uint32(k))
	}
	return order
}

func shares[T any](levels []level[T]) []float64 {
	var all []float64
	for _, l := range levels {
		all = append(all, l.share)
	}
	return all
}

// mixes draws for each user a mix from a Dirichlet law around the shares, times
// a factor of the user's, and scales all so that the rows of all users together
// have the shares.
func (s *synthetic) mixes(rng *rand.Rand, concentration float64, shares []float64, factor func(u *syntheticUser, k int) float64) [][]float64 {
	all := make([][]float64, len(s.users))
	for i := range all {
		mix := make([]float64, len(shares))
		for k, share := range shares {
			mix[k] = gamma(rng, concentration*share)*factor(&s.users[i], k) + 1e-9*share
		}
		all[i] = mix
	}
	for range 20 {
		got := make([]float64, len(shares))
		total := 0.
		for i, mix := range all {
			sum := 0.
			for _, x := range mix {
				sum += x
			}
			n := float64(s.users[i].rows)
			total += n
			for k := range mix {
				mix[k] /= sum
				got[k] += n * mix[k]
			}
		}
		for k := range got {
			// In a set of few users none may have a taste for a rare thing.
			got[k] = min(max(shares[k]*total/got[k], .5), 2)
		}
		for _, mix := range all {
			for k := range mix {
				mix[k] *= got[k]
			}
		}
	}
	return all
}

// placesOf are the sources of a type: those from first on, by dice.
type placesOf struct {
	first uint16
	dice  dice
}

// allSources lists the triples of typePlaces, those of a type together.
func allSources() ([]source, []placesOf) {
	var triples []source
	var places []placesOf
	for k, kind := range typeLevels {
		p := placesOf{first: uint16(len(triples))}
		var w []float64
		for _, place := range typePlaces[kind.value] {
			triples = append(triples, source{uint8(k), position(tabLevels, place.tab), position(screenLevels, place.screen)})
			w = append(w, place.share)
		}
		p.dice = newDice(w)
		places = append(places, p)
	}
	return triples, places
}

func position(levels []level[string], value string) uint8 {
	return uint8(slices.IndexFunc(levels, func(l level[string]) bool { return l.value == value }))
}

// songDraw draws songs by weights that make them as popular as they should be
// although no user hears one twice.
type songDraw struct {
	c *catalogue

	languageSongs  [][]int32
	languageWeight [][]float64 // cumulative

	artistFirst  []int32 // by artist, in artistSongs
	artistSongs  []int32
	artistWeight []float64 // cumulative over all artists
}

func newSongDraw(c *catalogue) *songDraw {
	d := &songDraw{c: c, languageSongs: make([][]int32, len(languageLevels)), languageWeight: make([][]float64, len(languageLevels))}
	w := drawWeights(len(c.fields))
	sums := make([]float64, len(languageLevels))
	for i, f := range c.fields {
		l := f.language
		sums[l] += w[i]
		d.languageSongs[l] = append(d.languageSongs[l], int32(i))
		d.languageWeight[l] = append(d.languageWeight[l], sums[l])
	}
	d.artistFirst = make([]int32, len(c.artistLanguage)+1)
	for _, a := range c.artist {
		d.artistFirst[a+1]++
	}
	for a := range c.artistLanguage {
		d.artistFirst[a+1] += d.artistFirst[a]
	}
	next := slices.Clone(d.artistFirst)
	d.artistSongs = make([]int32, len(c.artist))
	for i, a := range c.artist {
		d.artistSongs[next[a]] = int32(i)
		next[a]++
	}
	sum := 0.
	for _, song := range d.artistSongs {
		sum += w[song]
		d.artistWeight = append(d.artistWeight, sum)
	}
	return d
}

func (d *songDraw) ofLanguage(rng *rand.Rand, l int) int32 {
	w := d.languageWeight[l]
	if len(w) == 0 {
		return int32(rng.IntN(len(d.c.artist)))
	}
	return d.languageSongs[l][min(sort.SearchFloat64s(w, rng.Float64()*w[len(w)-1]), len(w)-1)]
}

func (d *songDraw) ofArtist(rng *rand.Rand, a int32) int32 {
	from, to := int(d.artistFirst[a]), int(d.artistFirst[a+1])
	low := 0.
	if from > 0 {
		low = d.artistWeight[from-1]
	}
	w := d.artistWeight[from:to]
	return d.artistSongs[from+min(sort.SearchFloat64s(w, low+rng.Float64()*(w[len(w)-1]-low)), len(w)-1)]
}

// liking is how well the artist's best known song is to the user's taste.
func (d *songDraw) liking(u *syntheticUser, a int32) float32 {
	return dot(&u.taste, &d.c.traits[d.artistSongs[d.artistFirst[a]]])
}

func dot(a, b *[traits]float32) (sum float32) {
	for j := range a {
		sum += a[j] * b[j]
	}
	return sum
}

// drawWeights finds the weight x of each song for which users who draw until
// they have n different songs hear it as often as expected. A user's draws m are
// those for which the sum over songs of 1 - exp(-m x) is n, and the song is heard
// by the sum over users of 1 - exp(-m x). Both are solved in turn, on a few users
// and ranks.
//
// Users who keep to few languages and artists use these up sooner, which a power
// a little above 1 makes up for.
func drawWeights(songs int) []float64 {
	const users, ranks, rounds, concentrated = 60, 240, 4, 1.03
	rows, draws := make([]float64, users), make([]float64, users)
	for i := range rows {
		rows[i] = rowsOfUser((float64(i) + .5) / users)
		draws[i] = rows[i]
	}
	var rank, width, heard, weight [ranks]float64
	for k := range ranks {
		low, high := math.Pow(float64(songs), float64(k)/ranks), math.Pow(float64(songs), float64(k+1)/ranks)
		rank[k], width[k] = math.Sqrt(low*high), high-low
		heard[k] = rowsOfSong(rank[k]) / fullUsers
		weight[k] = heard[k] / 240
	}
	for range rounds {
		for k := range weight {
			// By Newton's method in the logarithm.
			for range 8 {
				x := weight[k]
				var f, df float64
				for _, m := range draws {
					e := math.Exp(-m * x)
					f += 1 - e
					df += m * x * e
				}
				weight[k] = x * math.Exp(min(max((heard[k]*users-f)/df, -1), 1))
			}
		}
		for i, n := range rows {
			for range 8 {
				m := draws[i]
				var f, df float64
				for k, x := range weight {
					e := math.Exp(-m * x)
					f += width[k] * (1 - e)
					df += width[k] * m * x * e
				}
				draws[i] = m * math.Exp(min(max((n-f)/df, -1), 1))
			}
		}
	}
	w := make([]float64, songs)
	for i := range w {
		at := math.Log(float64(i+1))/math.Log(float64(songs))*ranks - .5
		k := min(max(int(at), 0), ranks-2)
		w[i] = math.Pow(weight[k]*math.Pow(weight[k+1]/weight[k], at-float64(k)), concentrated)
	}
	return w
}

// gamma draws from the Gamma law of a shape and scale 1 by the method of
// Marsaglia and Tsang, with the usual power of a uniform for shapes below 1.
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * math.Pow(rng.Float64(), 1/shape)
	}
	d := shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

func beta(rng *rand.Rand, a, b float64) float64 {
	x := gamma(rng, a)
	return x / (x + gamma(rng, b))
}
