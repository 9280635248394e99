package kkbox

// timeSlots is the number of parts of train.csv whose means are matched.
const timeSlots = 25

// fitPasses leaves the means within .01 of the published ones: where those of
// the tab, the screen and the type of radio, say, contradict one another, none
// can be met.
const fitPasses = 8

// drawTargets finds the probabilities and draws the targets.
//
// The terms of the logit that are spread at random are there; those of user,
// source, fields of the song and time are found such that the mean probability
// of a user's rows is the user's rate, and that of the rows of a language, say,
// the published mean. These are the conditions that maximum likelihood sets for a
// logistic regression on the levels of these fields, and they are solved as such:
// by Newton's method, one field apart from another, damped because fields
// overlap.
func (s *synthetic) drawTargets() {
	rng := s.rand("targets")
	n := len(s.train.song)
	base, baseMean := make([]float32, n), 0.
	for i := range s.users[:s.Users] {
		u := &s.users[i]
		habits := make([]float32, len(typeLevels))
		for k := range habits {
			habits[k] = float32(habitSpread * rng.NormFloat64())
		}
		for r := s.train.first[i]; r < s.train.first[i+1]; r++ {
			song := s.train.song[r]
			base[r] = s.effect[song] + dot(&u.taste, &s.traits[song]) + habits[s.sources[s.train.source[r]].kind] + float32(noiseSpread*rng.NormFloat64())
			baseMean += float64(base[r]) / float64(n)
		}
	}
	slot := make([]uint8, n)
	for place, r := range s.train.order {
		slot[r] = uint8(place * timeSlots / n)
	}

	fields := fittedFields()
	userTerm := make([]float64, s.Users)
	for i := range userTerm {
		userTerm[i] = logit(s.users[i].rate) - baseMean
	}
	songTerm := make([]float64, len(s.fields))
	sourceTerm := make([]float64, len(s.sources))
	timeTerm := make([]float64, timeSlots)
	songSum, sourceSum, timeSum := make([]sums, len(songTerm)), make([]sums, len(sourceTerm)), make([]sums, timeSlots)

	s.probability = make([]float32, n)
	for range fitPasses + 1 {
		for song := range songTerm {
			songTerm[song] = 0
			for _, f := range fields {
				if f.ofSong != nil {
					songTerm[song] += f.term[f.ofSong(&s.fields[song])]
				}
			}
		}
		for src, t := range s.sources {
			sourceTerm[src] = 0
			for _, f := range fields {
				if f.ofSource != nil {
					sourceTerm[src] += f.term[f.ofSource(t)]
				}
			}
		}
		copy(timeTerm, fields[0].term)

		clear(songSum)
		clear(sourceSum)
		clear(timeSum)
		for i := range userTerm {
			var user sums
			for r := s.train.first[i]; r < s.train.first[i+1]; r++ {
				song, src, t := s.train.song[r], s.train.source[r], slot[r]
				p := sigmoid(float64(base[r]) + userTerm[i] + songTerm[song] + sourceTerm[src] + timeTerm[t])
				v := p * (1 - p)
				s.probability[r] = float32(p)
				user.add(1, p, v)
				songSum[song].add(1, p, v)
				sourceSum[src].add(1, p, v)
				timeSum[t].add(1, p, v)
			}
			userTerm[i] += user.step(s.users[i].rate)
		}
		for _, f := range fields {
			f.fit(s, songSum, sourceSum, timeSum)
		}
	}
	s.target = make([]bool, n)
	for r, p := range s.probability {
		s.target[r] = rng.Float32() < p
	}
}

// sums are over some rows, of probability p and variance v = p(1-p).
type sums struct{ n, p, v float64 }

func (s *sums) add(n, p, v float64) { s.n, s.p, s.v = s.n+n, s.p+p, s.v+v }

// step is Newton's towards a mean, no longer than 1.
func (s *sums) step(mean float64) float64 {
	if s.v == 0 {
		return 0
	}
	return min(max((mean*s.n-s.p)/s.v, -1), 1)
}

// fittedField is a field with published means. Its levels are those of time,
// unless they are of a song or a source.
type fittedField struct {
	mean, term []float64 // by level; levels with a mean of 0 have a term of 0
	ofSong     func(*songFields) uint8
	ofSource   func(source) uint8
}

func fittedFields() []*fittedField {
	time := make([]float64, timeSlots)
	for i := range time {
		time[i] = timeMean((float64(i) + .5) / timeSlots)
	}
	// The ISRC has the country and the year, so they are missing together.
	year := append(means(yearLevels), countryLevels[position(countryLevels, "")].mean)
	fields := []*fittedField{
		{mean: time},
		{mean: means(typeLevels), ofSource: func(s source) uint8 { return s.kind }},
		{mean: means(tabLevels), ofSource: func(s source) uint8 { return s.tab }},
		{mean: means(screenLevels), ofSource: func(s source) uint8 { return s.screen }},
		{mean: means(languageLevels), ofSong: func(f *songFields) uint8 { return f.language }},
		{mean: means(countryLevels), ofSong: func(f *songFields) uint8 { return f.country }},
		{mean: year, ofSong: func(f *songFields) uint8 { return f.year }},
		{mean: means(genreCountLevels), ofSong: func(f *songFields) uint8 { return max(f.genreCount, 1) - 1 }},
		{mean: means(composerLevels), ofSong: func(f *songFields) uint8 { return f.composerCount }},
		{mean: means(lyricistLevels), ofSong: func(f *songFields) uint8 { return f.lyricistCount }},
	}
	// A start near the end: a little more than what the fields would need were
	// there nothing else. Most of what tabs and screens have is in the type.
	for i, f := range fields {
		f.term = make([]float64, len(f.mean))
		stretch := []float64{1.3, 1.1, 0, 0, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2}[i]
		for k, m := range f.mean {
			if m != 0 {
				f.term[k] = stretch * (logit(m) - logit(rowMean))
			}
		}
	}
	return fields
}

func means[T any](levels []level[T]) []float64 {
	var all []float64
	for _, l := range levels {
		all = append(all, l.mean)
	}
	return all
}

// fit moves the terms half a step of Newton's towards the means, all of them
// shifted so that they agree with the mean of all rows, which is the users' part.
func (f *fittedField) fit(s *synthetic, songs, sources, times []sums) {
	level := make([]sums, len(f.mean))
	switch {
	case f.ofSong != nil:
		for song, x := range songs {
			if x.n > 0 {
				level[f.ofSong(&s.fields[song])].add(x.n, x.p, x.v)
			}
		}
	case f.ofSource != nil:
		for src, x := range sources {
			level[f.ofSource(s.sources[src])].add(x.n, x.p, x.v)
		}
	default:
		copy(level, times)
	}
	var n, excess float64
	for k, x := range level {
		if f.mean[k] != 0 {
			n += x.n
			excess += x.p - f.mean[k]*x.n
		}
	}
	const damping, most = .5, 3
	for k, x := range level {
		if f.mean[k] != 0 && x.n > 0 {
			f.term[k] = min(max(f.term[k]+damping*x.step(f.mean[k]+excess/n), -most), most)
		}
	}

}
