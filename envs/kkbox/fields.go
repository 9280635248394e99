package kkbox

import (
	_ "embed"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// NumFields is how many features a song has: the paper's 94 (section 6.1).
// Which they are, the paper leaves open; these are ours, see Columns.
const NumFields = 94

// Column describes one of the features.
type Column struct{ Name, Doc string }

//go:embed layout94.tsv
var layout string

// Columns returns the 94 features in their order.
func Columns() []Column {
	var columns []Column
	for _, line := range strings.Split(strings.TrimSpace(layout), "\n")[1:] {
		cells := strings.Split(line, "\t")
		columns = append(columns, Column{Name: cells[1], Doc: cells[2]})
	}
	return columns
}

// Where the blocks of columns begin.
const firstCount, firstLanguage, firstGenre, firstCountry, firstYear, firstArtist, firstComposer, firstLyricist = 18, 26, 37, 62, 70, 78, 86, 90

var (
	languages = []int16{-1, 3, 10, 17, 24, 31, 38, 45, 52, 59} // and one column for all others
	genres    = []string{"465", "458", "921", "1609", "444", "1259", "2022", "359", "139", "2122", "786", "451", "437", "958", "1616", "1011", "2157", "726", "947", "691", "1152", "829", "798", "940"}
	countries = []string{"TW", "US", "GB", "KR", "HK", "JP", "CN"}
	yearsFrom = []int{1990, 2000, 2005, 2010, 2013, 2015, 2016} // the first years of the columns after the first
)

// Fields are the features of all songs of a data set. Nothing changes them once they are made.
// They are [songs, NumFields], row-major.
type Fields []float32

// Song returns the features of a song, [NumFields]: a part of f.
func (f Fields) Song(song int) []float32 { return f[song*NumFields:][:NumFields:NumFields] }

// Encode makes the features of all songs. No target enters. Counts are
// standardised over the rows of train.csv and test.csv. Some of them, columns 18
// to 22 and 25, are known only after the whole period.
func Encode(data *Dataset) Fields {
	f := make(Fields, len(data.Songs)*NumFields)
	heard := map[string]int32{}
	for i := range data.Songs {
		for _, key := range countedBy(&data.Songs[i]) {
			heard[key] += data.Songs[i].Rows
		}
	}
	delete(heard, "")
	for i := range data.Songs {
		encode(f.Song(i), &data.Songs[i], heard)
	}
	for c := firstCount; c < firstLanguage; c++ {
		f.standardise(c, data.Songs)
	}
	return f
}

// countedBy are what rows are counted by: artist, first composer, first lyricist,
// first genre, and registrant of the ISRC, "" where it is missing.
func countedBy(s *Song) (keys [5]string) {
	_, registrant, _, _ := parseISRC(s.ISRC)
	for i, name := range []string{s.Artist, firstOf(creatorNames(s.Composer)), firstOf(creatorNames(s.Lyricist)), firstOf(splitGenres(s.Genres)), registrant} {
		if name != "" {
			keys[i] = strconv.Itoa(i) + name
		}
	}
	return keys
}

// standardise brings a column to mean 0 and standard deviation 1 over the songs that have it, each
// weighted by its rows. The others have 0, and keep it.
func (f Fields) standardise(c int, songs []Song) {
	var n, mean, variance float64
	each := func(do func(x *float32, rows float64)) {
		for i := range songs {
			if x := &f.Song(i)[c]; *x != 0 {
				do(x, float64(songs[i].Rows))
			}
		}
	}
	each(func(x *float32, rows float64) { n += rows; mean += rows * float64(*x) })
	mean /= n
	each(func(x *float32, rows float64) { variance += rows / n * math.Pow(float64(*x)-mean, 2) })
	deviation := math.Sqrt(variance)
	if deviation <= 1e-6*math.Abs(mean) { // all are the same but for rounding
		deviation = 1
	}
	each(func(x *float32, _ float64) { *x = float32((float64(*x) - mean) / deviation) })
}

// encode writes the features of a song to x, [NumFields], which is 0. Counts are yet to be
// standardised, and 0 only where the song does not have what is counted.
func encode(x []float32, s *Song, heard map[string]int32) {
	credits := splitArtists(s.Artist)
	artists, composers, lyricists := artistNames(credits), creatorNames(s.Composer), creatorNames(s.Lyricist)
	ids := splitGenres(s.Genres)
	made, _, published, hasISRC := parseISRC(s.ISRC)

	if s.Length > 0 {
		x[0] = scaled(math.Log(float64(s.Length)), 12.383, 0.2357) // over the rows of the real train.csv
	}
	x[1] = flag(!s.Listed)
	x[2], x[3] = min(float32(len(ids))/3, 3), flag(len(ids) == 0)
	x[4] = log1p(int32(len(credits)))
	x[5] = flag(featured.MatchString(s.Artist) || featured.MatchString(s.Name))
	x[6] = flag(s.Artist == "Various Artists" || s.Artist == "Various")
	x[7], x[8] = log1p(int32(len(composers))), flag(len(composers) == 0)
	x[9], x[10] = log1p(int32(len(lyricists))), flag(len(lyricists) == 0)
	x[11], x[12], x[13] = flag(share(artists, composers)), flag(share(artists, lyricists)), flag(share(composers, lyricists))
	x[14] = flag(!hasISRC)
	x[16], x[17] = asciiShare(s.Name), flag(version.MatchString(s.Name))
	x[18] = log1p(s.Rows)
	for i, key := range countedBy(s) {
		x[[]int{19, 20, 21, 22, 25}[i]] = log1p(heard[key])
	}
	x[23], x[24] = log1p(s.ArtistSongs), log1p(s.ComposerSongs)
	x[firstLanguage+indexOrEnd(languages, s.Language)] = 1
	for _, id := range ids {
		x[firstGenre+indexOrEnd(genres, id)] = 1
	}
	if hasISRC {
		x[15] = scaled(float64(published), 2010, 8)
		x[firstCountry+indexOrEnd(countries, made)] = 1
		x[firstYear+sort.SearchInts(yearsFrom, published+1)] = 1
	}
	hashNames(x[firstArtist:firstComposer], artists)
	hashNames(x[firstComposer:firstLyricist], composers)
	hashNames(x[firstLyricist:NumFields], lyricists)
}

func scaled(x, mean, deviation float64) float32 {
	return float32(min(max((x-mean)/deviation, -4), 4))
}

func flag(yes bool) float32 {
	if yes {
		return 1
	}
	return 0
}

func log1p(n int32) float32 { return float32(math.Log1p(float64(n))) }

// indexOrEnd is the index of x, or that of one more column for all others.
func indexOrEnd[T comparable](all []T, x T) int {
	if i := slices.Index(all, x); i >= 0 {
		return i
	}
	return len(all)
}

func firstOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// parseISRC is what the features use of an International Standard Recording
// Code, CCXXXYYNNNNN. ok is false where it is missing or cannot be read.
func parseISRC(code string) (country, registrant string, year int, ok bool) {
	if len(code) < 7 || strings.Trim(code[5:7], "0123456789") != "" {
		return "", "", 0, false
	}
	if year = 1900 + int(number(code[5:7])); year <= 1917 { // the data ends in 2017
		year += 100
	}
	return code[:2], code[2:5], year, true
}

// names splits a field and brings each name to the form in which names are compared: lower case, no
// outer blanks (U+3000 is one), inner ones single. Empty names are left out.
func names(field, separators string) []string {
	var all []string
	for _, part := range strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if name := strings.Join(strings.Fields(strings.ToLower(part)), " "); name != "" {
			all = append(all, name)
		}
	}
	return all
}

func creatorNames(field string) []string { return names(field, `|/\;、，`) }

func splitGenres(ids string) []string { return names(ids, "| ") }

// creditSeparator is what stands between artists: | , & ; / and their kin, the
// words feat and featuring, and the word x within. Another name in brackets, as
// in "張信哲 (Jeff Chang)", is no other artist.
var creditSeparator = regexp.MustCompile(`(?i)[|,&;/、，]|[\s(]feat(uring)?\b\.?|\sx\s`)

func splitArtists(field string) []string {
	return slices.DeleteFunc(creditSeparator.Split(field, -1), func(credit string) bool { return strings.TrimSpace(credit) == "" })
}

// artistNames returns the names in credits. What stands in brackets is another
// name, since composers may be written in either way.
func artistNames(credits []string) []string { return names(strings.Join(credits, "("), "()（）") }

// share says whether two short lists have a name in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

var (
	featured = regexp.MustCompile(`(?i)[ (]feat|featuring`)
	version  = regexp.MustCompile(`(?i)\b(remix|live|inst|instrumental|karaoke|cover|version)\b`)
)

// asciiShare returns the share of ASCII letters among the letters of a title,
// 0.5 where it has no letter.
func asciiShare(title string) float32 {
	letters, ascii := 0, 0
	for _, r := range title {
		if unicode.IsLetter(r) {
			letters++
			if r < unicode.MaxASCII {
				ascii++
			}
		}
	}
	if letters == 0 {
		return 0.5
	}
	return float32(ascii) / float32(letters)
}

// hashNames adds ±1/sqrt(number of names) to a bucket for each name. Bucket and
// sign come from the name's 64-bit FNV-1a hash: the remainder, and the top bit.
func hashNames(buckets []float32, names []string) {
	x := float32(1 / math.Sqrt(float64(len(names))))
	for _, name := range names {
		h := fnv.New64a()
		h.Write([]byte(name))
		sum := h.Sum64()
		buckets[sum%uint64(len(buckets))] += x * (1 - 2*float32(sum>>63))
	}
}
