package kkbox

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

const unreadable = "values cannot be read and are taken as missing"

type reading struct {
	data  *Dataset
	songs map[string]int32 // indices by id
}

func (r *reading) file(s *source, unpacker Unpacker, read func(t *table) error) error {
	text, err := s.open(unpacker)
	if err != nil {
		return err
	}
	defer text.Close()
	t := &table{text: bufio.NewReaderSize(text, 1<<16), counts: map[string]int{}}
	if err := read(t); err != nil {
		return fmt.Errorf("line %d: %w", t.line, err)
	}
	// Rows of the data of the challenge, as public write-ups have them.
	published := map[string]int{"train.csv": 7_377_418, "test.csv": 2_556_790, "songs.csv": 2_296_320, "song_extra_info.csv": 2_295_971}[s.name]
	r.data.Notes = append(r.data.Notes, fmt.Sprintf("%s: %d rows, where the data of the challenge has %d", s.path, t.rows, published))
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		r.data.Notes = append(r.data.Notes, fmt.Sprintf("%s: warning: %d %s", s.path, t.counts[what], what))
	}
	return nil
}

// song returns the index of a song that has a row.
func (r *reading) song(id string) int32 {
	at := indexOf(id, r.songs, &r.data.Songs, func(id string) Song { return Song{ID: id} })
	r.data.Songs[at].Rows++
	return at
}

// indexOf is the index of what has a name among all, to which it is added as named says if it is new.
func indexOf[T any](name string, indices map[string]int32, all *[]T, named func(string) T) int32 {
	i, known := indices[name]
	if !known {
		i, name = int32(len(*all)), strings.Clone(name)
		*all, indices[name] = append(*all, named(name)), i
	}
	return i
}

func (r *reading) train(t *table) error {
	d, users, types := r.data, map[string]int32{}, map[string]int32{"": 0}
	sum := 0
	err := t.each([]string{"msno", "song_id", "source_type", "target"}, func(v []string) error {
		target := strings.TrimSuffix(v[3], ".0")
		user, kind := indexOf(v[0], users, &d.Users, strings.Clone), indexOf(v[2], types, &d.Types, strings.Clone)
		switch {
		case v[0] == "" || v[1] == "":
			return fmt.Errorf("msno is %q and song_id is %q, want two ids", v[0], v[1])
		case target != "0" && target != "1":
			return fmt.Errorf("column target: is %.200q, want 0 or 1", v[3])
		case kind > math.MaxUint8:
			return fmt.Errorf("column source_type: is %.200q, after 255 other values", v[2])
		}
		d.User, d.Song = append(d.User, user), append(d.Song, r.song(v[1]))
		d.Target, d.Type = append(d.Target, target[0]-'0'), append(d.Type, uint8(kind))
		sum += int(target[0] - '0')
		return nil
	})
	if err == nil && t.rows == 0 {
		return errors.New("has no rows")
	}
	d.Notes = append(d.Notes, fmt.Sprintf("the mean of the target is %.4f, where the data of the challenge has 0.5035", float64(sum)/float64(t.rows)))
	return err
}

func (r *reading) test(t *table) error {
	return t.each([]string{"song_id"}, func(v []string) error {
		if v[0] != "" {
			r.song(v[0])
		}
		return nil
	})
}

// catalogue reads songs.csv: of the songs of the rows all, of the others how many
// an artist and a composer has.
func (r *reading) catalogue(t *table) error {
	artists, composers := map[string]int32{}, map[string]int32{}
	columns := []string{"song_length", "language", "genre_ids", "artist_name", "composer", "lyricist", "song_id"}
	err := t.each(columns, func(v []string) error {
		artists[v[3]]++
		composers[firstOf(creatorNames(v[4]))]++
		at, ok := r.songs[v[6]]
		if !ok || r.data.Songs[at].Listed {
			return nil
		}
		song := &r.data.Songs[at]
		song.Listed = true
		song.Length, song.Language = int32(t.number(v[0], 0, math.MaxInt32)), int16(t.number(v[1], math.MinInt16, math.MaxInt16))
		song.Genres, song.Artist, song.Composer, song.Lyricist = v[2], v[3], v[4], v[5]
		return nil
	})
	delete(artists, "")
	delete(composers, "")
	unlisted := int32(0)
	for i := range r.data.Songs {
		song := &r.data.Songs[i]
		song.ArtistSongs, song.ComposerSongs = artists[song.Artist], composers[firstOf(creatorNames(song.Composer))]
		if !song.Listed {
			unlisted += song.Rows
		}
	}
	r.data.Notes = append(r.data.Notes, fmt.Sprintf("%d rows have a song that songs.csv does not have", unlisted))
	return err
}

func (r *reading) extra(t *table) error {
	return t.each([]string{"song_id", "name", "isrc"}, func(v []string) error {
		at, ok := r.songs[v[0]]
		if !ok || r.data.Songs[at].Name+r.data.Songs[at].ISRC != "" {
			return nil
		}
		song := &r.data.Songs[at]
		song.Name = v[1]
		if _, _, _, ok := parseISRC(v[2]); ok {
			song.ISRC = v[2]
		} else if v[2] != "" {
			t.counts[unreadable]++
		}
		return nil
	})
}

// number reads a whole number within bounds, which may be written as a float is: 3.0, 2.4e5. One
// that is missing, or cannot be read, which is counted, is 0.
func (t *table) number(text string, least, most float64) int64 {
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && x == math.Trunc(x) && least <= x && x <= most {
		return int64(x)
	}
	if text != "" {
		t.counts[unreadable]++
	}
	return 0
}
