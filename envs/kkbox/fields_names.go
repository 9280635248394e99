package kkbox

import (
	"math"
	"strings"
	"unicode"
)

// normalise brings a name to the form in which names are compared: lower case,
// no outer blanks, inner ones single. U+3000 is a blank too.
func normalise(name string) string { return strings.Join(strings.Fields(strings.ToLower(name)), " ") }

func isCreatorSeparator(r rune) bool { return strings.ContainsRune(`|/\;、，`, r) }

// creatorNames returns the normalised names in a field of composers or
// lyricists.
func creatorNames(field string) []string {
	return namesIn(strings.FieldsFunc(field, isCreatorSeparator))
}

// firstName returns the first name in a field of composers or lyricists,
// normalised; "" if there is none.
func firstName(field string) string {
	for field != "" {
		end := strings.IndexFunc(field, isCreatorSeparator)
		if end < 0 {
			return normalise(field)
		}
		if name := normalise(field[:end]); name != "" {
			return name
		}
		field = strings.TrimLeftFunc(field[end:], isCreatorSeparator)
	}
	return ""
}

// splitArtists returns the credits in a field of artists, which stand between
// | , & ; / and their kin, the words feat and featuring, and the word x within.
// Another name in
// brackets, as in "張信哲 (Jeff Chang)", is no other credit. Case is kept.
func splitArtists(field string) []string {
	var credits []string
	for _, part := range strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune("|,&;/、，", r) }) {
		words := strings.Fields(part)
		from := 0
		for i, word := range words {
			between := i > from && i+1 < len(words) // in "A x B", and not in "X Japan"
			if isFeaturing(word) || between && strings.EqualFold(word, "x") {
				if i > from {
					credits = append(credits, strings.Join(words[from:i], " "))
				}
				from = i + 1
			}
		}
		if len(words) > from {
			credits = append(credits, strings.Join(words[from:], " "))
		}
	}
	return credits
}

func isFeaturing(word string) bool {
	word = strings.Trim(word, "().")
	return strings.EqualFold(word, "feat") || strings.EqualFold(word, "featuring")
}

// artistNames returns the normalised names in credits. What stands in brackets
// is a name of its own, since composers may be written in either way.
func artistNames(credits []string) []string {
	var names []string
	for _, credit := range credits {
		names = append(names, namesIn(strings.FieldsFunc(credit, func(r rune) bool { return strings.ContainsRune("()（）", r) }))...)
	}
	return names
}

// namesIn normalises names, and leaves out empty ones.
func namesIn(parts []string) []string {
	names := parts[:0]
	for _, part := range parts {
		if name := normalise(part); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// share says whether two short lists have a name in common.
func share(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

func isFeatured(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, " feat") || strings.Contains(name, "(feat") || strings.Contains(name, "featuring")
}

func isVersion(title string) bool {
	for _, word := range strings.FieldsFunc(title, func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch strings.ToLower(word) {
		case "remix", "live", "inst", "instrumental", "karaoke", "cover", "version":
			return true
		}
	}
	return false
}

// asciiShare returns the share of ASCII letters among the letters of a title.
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
	for _, name := range names {
		h := uint64(14695981039346656037)
		for i := 0; i < len(name); i++ {
			h = (h ^ uint64(name[i])) * 1099511628211
		}
		x := float32(1 / math.Sqrt(float64(len(names))))
		if h>>63 == 1 {
			x = -x
		}
		buckets[h%uint64(len(buckets))] += x
	}
}
