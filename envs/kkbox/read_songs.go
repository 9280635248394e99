package kkbox

import (
	"bytes"
	"math"
	"sync/atomic"
)

// songTable is where the songs of the rows are filled in.
type songTable struct {
	songs []Song
	index map[string]int32 // by id
}

// songs reads songs.csv: of the songs of the rows all, of the others how many
// an artist and a composer has.
func (r *reading) songs(c *songTable, stop *atomic.Bool) error {
	const id, length, genres, artist, composer, lyricist, language = 0, 1, 2, 3, 4, 5, 6
	columns := []string{"song_id", "song_length", "genre_ids", "artist_name", "composer", "lyricist", "language"}
	var artists, composers tally
	var texts interner
	artistOf := make([]int32, len(c.songs))
	composerOf := make([]int32, len(c.songs))
	err := r.each(songsFile, stop, columns, func(t *table, report *FileReport) error {
		by, first := artists.add(t.field(artist)), composers.add(firstComposer(t.field(composer)))
		if f := t.field(language); len(f) > 0 && bytes.IndexByte(f, '.') < 0 {
			report.wholeLanguages++
		}
		s, ok := c.index[string(t.field(id))]
		if !ok {
			return nil
		}
		song := &c.songs[s]
		if song.Listed {
			report.Duplicates++
			return nil
		}
		song.Listed = true
		song.Length = int32(report.number(t.field(length), 0, math.MaxInt32))
		song.Genres = texts.text(t.field(genres))
		song.Artist = texts.text(t.field(artist))
		song.Composer = texts.text(t.field(composer))
		song.Lyricist = texts.text(t.field(lyricist))
		song.Language = int16(report.number(t.field(language), math.MinInt16, math.MaxInt16))
		artistOf[s], composerOf[s] = by, first
		return nil
	})
	if err != nil {
		return err
	}
	for s := range c.songs {
		if c.songs[s].Listed {
			c.songs[s].ArtistSongs = artists.of(artistOf[s])
			c.songs[s].ComposerSongs = composers.of(composerOf[s])
		}
	}
	return nil
}

// text is the text as one string for all that have it.
func (n *interner) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return n.ids[n.number(b)]
}

// tally counts texts.
type tally struct {
	interner
	counts []int32
}

// nobody is the number of no text.
const nobody = -1

func (c *tally) add(text []byte) int32 {
	if len(text) == 0 {
		return nobody
	}
	at := c.number(text)
	if int(at) == len(c.counts) {
		c.counts = append(c.counts, 0)
	}
	c.counts[at]++
	return at
}

func (c *tally) of(number int32) int32 {
	if number == nobody {
		return 0
	}
	return c.counts[number]
}

// firstComposer is the first of the composers in a field, who are separated by | / \
// ; and the ideographic comma.
func firstComposer(names []byte) []byte {
	for {
		end, next := len(names), len(names)
		for i, c := range names {
			if c == '|' || c == '/' || c == '\\' || c == ';' {
				end, next = i, i+1
				break
			}
			if c == "、"[0] && bytes.HasPrefix(names[i:], []byte("、")) {
				end, next = i, i+len("、")
				break
			}
		}
		name := bytes.TrimSpace(names[:end])
		if len(name) > 0 || end == len(names) {
			return name
		}
		names = names[next:]
	}
}

// number reads a whole number within bounds. One that is missing, or cannot be
// read, which is counted, is 0.
func (f *FileReport) number(b []byte, least, most int64) int64 {
	if len(b) == 0 {
		return 0
	}
	n, ok := integer(b)
	if !ok || n < least || n > most {
		f.Unreadable++
		return 0
	}
	return n
}

// extra reads song_extra_info.csv.
func (r *reading) extra(c *songTable, stop *atomic.Bool) error {
	const id, name, isrc = 0, 1, 2
	seen := make([]bool, len(c.songs))
	return r.each(extraFile, stop, []string{"song_id", "name", "isrc"}, func(t *table, report *FileReport) error {
		s, ok := c.index[string(t.field(id))]
		if !ok {
			return nil
		}
		if seen[s] {
			report.Duplicates++
			return nil
		}
		seen[s] = true
		c.songs[s].Name = string(t.field(name))
		if code := t.field(isrc); wellFormed(code) {
			c.songs[s].ISRC = string(code)
		} else if len(code) > 0 {
			report.Unreadable++
		}
		return nil
	})
}

// wellFormed tells whether a code has what is used of it: a country, a
// registrant and a year, CCXXXYY.
func wellFormed(isrc []byte) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	return len(isrc) >= 7 && digit(isrc[5]) && digit(isrc[6])
}
