package kkbox

import (
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

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
