package kkbox

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
)

// rowTable is the rows of train.csv, or what is used of test.csv: its songs.
type rowTable struct {
	users, songs     interner
	user, song       []int32
	target           []uint8
	tab, screen, via levels

	heard []int32 // rows of each song, of test.csv alone
	count int
}

// interner numbers texts in the order of their first appearance.
type interner struct {
	index map[string]int32
	ids   []string
	last  int32 // number of the text before, which is often that of the next
}

func (n *interner) number(id []byte) int32 {
	if len(n.ids) > 0 && string(id) == n.ids[n.last] {
		return n.last
	}
	at, ok := n.index[string(id)]
	if !ok {
		if n.index == nil {
			n.index = make(map[string]int32)
		}
		at = int32(len(n.ids))
		text := string(id)
		n.index[text] = at
		n.ids = append(n.ids, text)
	}
	n.last = at
	return at
}

// levels are the values of a source field, and the one of each row.
type levels struct {
	interner
	rows []uint8
}

// maxLevels is how many values a source field may have. The real ones have
// at most 22.
const maxLevels = 256

func (l *levels) add(t *table, column int, level []byte) error {
	at := l.number(level)
	if at >= maxLevels {
		return t.err(t.columns[column], fmt.Errorf("%q is value %d, want at most %d", clip(level), at+1, maxLevels))
	}
	l.rows = append(l.rows, uint8(at))
	return nil
}

// rows reads train.csv, or the songs of test.csv.
func (r *reading) rows(file int, into *rowTable, stop *atomic.Bool) error {
	const user, song, tab, screen, via, target = 0, 1, 2, 3, 4, 5
	columns := []string{"msno", "song_id", "source_system_tab", "source_screen_name", "source_type", "target"}
	if file == testFile {
		columns = columns[:tab]
	} else {
		for _, l := range []*levels{&into.tab, &into.screen, &into.via} {
			l.number(nil) // so that missing ones are number 0
		}
	}
	null := []byte("null")
	return r.each(file, stop, columns, func(t *table, _ *FileReport) error {
		if len(t.fields) < t.width {
			return t.err("", fmt.Errorf("has %d fields, want %d", len(t.fields), t.width))
		}
		for column := range song + 1 {
			if len(t.field(column)) == 0 {
				return t.bad(column, "an id")
			}
		}
		if into.count == math.MaxInt32 {
			return t.err("", fmt.Errorf("has a row too many, want at most %d", into.count))
		}
		into.count++
		if file == testFile {
			s := into.songs.number(t.field(song))
			if int(s) == len(into.heard) {
				into.heard = append(into.heard, 0)
			}
			into.heard[s]++
			return nil
		}
		paid, ok := zeroOrOne(t.field(target))
		if !ok {
			return t.bad(target, "0 or 1")
		}
		into.user = append(into.user, into.users.number(t.field(user)))
		into.song = append(into.song, into.songs.number(t.field(song)))
		into.target = append(into.target, paid)
		where := t.field(tab)
		if bytes.Equal(where, null) {
			where = nil
		}
		if err := into.tab.add(t, tab, where); err != nil {
			return err
		}
		if err := into.screen.add(t, screen, t.field(screen)); err != nil {
			return err
		}
		return into.via.add(t, via, t.field(via))
	})
}

// zeroOrOne reads a 0 or 1, which a copy may have as 0.0 or 1.0.
func zeroOrOne(b []byte) (value uint8, ok bool) {
	if len(b) == 1 {
		return b[0] - '0', b[0] == '0' || b[0] == '1'
	}
	n, ok := integer(b)
	return uint8(n), ok && (n == 0 || n == 1)
}

// integer reads a whole number, which may be written as a float is: 3.0, 2.4e5.
func integer(b []byte) (value int64, ok bool) {
	const most = 1 << 53
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) > 0 && len(digits) < 16 {
		for i, c := range digits {
			if c < '0' || c > '9' {
				break
			}
			value = 10*value + int64(c-'0')
			if i == len(digits)-1 {
				if len(digits) < len(b) {
					value = -value
				}
				return value, true
			}
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > most {
		return 0, false
	}
	return int64(f), true
}

// truth reads the true probabilities of synthetic rows.
func (r *reading) truth(into *[]float32, stop *atomic.Bool) error {
	return r.each(truthFile, stop, []string{"probability"}, func(t *table, _ *FileReport) error {
		p, err := strconv.ParseFloat(string(t.field(0)), 32)
		if err != nil || !(p >= 0 && p <= 1) {
			return t.bad(0, "a probability")
		}
		*into = append(*into, float32(p))
		return nil
	})
}

// dropDuplicates moves the rows to the data set but for those of a user and a
// song that another row had before, and returns how many those are.
func (r *rowTable) dropDuplicates(data *Dataset) int {
	n := 0
	for i, repeated := range r.repeated() {
		if repeated {
			continue
		}
		r.user[n], r.song[n], r.target[n] = r.user[i], r.song[i], r.target[i]
		r.tab.rows[n], r.screen.rows[n], r.via.rows[n] = r.tab.rows[i], r.screen.rows[i], r.via.rows[i]
		if data.Probability != nil {
			data.Probability[n] = data.Probability[i]
		}
		n++
	}
	data.User, data.Song, data.Target = trim(r.user, n), trim(r.song, n), trim(r.target, n)
	data.Tab, data.Screen, data.Type = trim(r.tab.rows, n), trim(r.screen.rows, n), trim(r.via.rows, n)
	data.Tabs, data.Screens, data.Types = r.tab.ids, r.screen.ids, r.via.ids
	if data.Probability != nil {
		data.Probability = trim(data.Probability, n)
	}
	return r.count - n
}

// trim copies what is used of a slice that was appended to.
func trim[T any](s []T, n int) []T { return append(make([]T, 0, n), s[:n]...) }

// repeated marks the rows whose user and song another row had before.
func (r *rowTable) repeated() []bool {
	// Rows sorted by user, in the order of rows: then a song that was seen with
	// the same user before is one whose mark is that user.
	first := make([]int32, len(r.users.ids)+1)
	for _, u := range r.user {
		first[u+1]++
	}
	for u := range r.users.ids {
		first[u+1] += first[u]
	}
	sorted := make([]int32, len(r.user))
	for i, u := range r.user {
		sorted[first[u]] = int32(i)
		first[u]++
	}
	mark := make([]int32, len(r.songs.ids))
	repeated := make([]bool, len(r.user))
	for _, i := range sorted {
		s, u := r.song[i], r.user[i]+1
		repeated[i] = mark[s] == u
		mark[s] = u
	}
	return repeated
}

// merge makes the users and the songs of all rows, and returns the numbers of
// the songs.
func merge(data *Dataset, train, test *rowTable) map[string]int32 {
	data.Users = make([]User, len(train.users.ids))
	for u, id := range train.users.ids {
		data.Users[u].ID = id
	}
	all := train.songs
	for _, id := range test.songs.ids {
		if _, ok := all.index[id]; !ok {
			all.index[id] = int32(len(all.ids))
			all.ids = append(all.ids, id)
		}
	}
	data.Songs = make([]Song, len(all.ids))
	for s, id := range all.ids {
		data.Songs[s].ID = id
	}
	for _, s := range data.Song {
		data.Songs[s].Rows++
	}
	for s, n := range test.heard {
		data.Songs[all.index[test.songs.ids[s]]].Rows += n
	}
	data.TestRows = test.count
	return all.index
}
