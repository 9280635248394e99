package kkbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// id is a msno or a song_id: 32 bytes in base64.
type id [44]byte

func newID(kind byte, seed uint64, number int) (text id) {
	var key [17]byte
	key[0] = kind
	binary.LittleEndian.PutUint64(key[1:], seed)
	binary.LittleEndian.PutUint64(key[9:], uint64(number))
	sum := sha256.Sum256(key[:])
	base64.StdEncoding.Encode(text[:], sum[:])
	return text
}

func newIDs(kind byte, seed uint64, n int) []id {
	all := make([]id, n)
	for i := range all {
		all[i] = newID(kind, seed, i)
	}
	return all
}

// write gives each file's content to create, one after another, train.csv last,
// with about the number of its bytes.
func (s *synthetic) write(ctx context.Context, create func(name string, size int, content func(io.Writer) error) error, progress func(done, total int64)) error {
	lines := &lineCounter{tell: progress}
	lines.total = int64(2*len(s.train.song) + len(s.test.song) + 2*len(s.fields) + len(s.users))
	users, songs := newIDs('u', s.Seed, len(s.users)), newIDs('s', s.Seed, len(s.fields))
	for _, file := range []struct {
		name    string
		size    int
		content func(*lineWriter)
	}{
		{"members.csv", 75 * len(s.users), func(w *lineWriter) { s.writeMembers(w, users) }},
		{"songs.csv", 105 * len(s.fields), func(w *lineWriter) { s.writeSongs(w, songs) }},
		{"song_extra_info.csv", 80 * len(s.fields), func(w *lineWriter) { s.writeExtra(w, songs) }},
		{"test.csv", 140 * len(s.test.song), func(w *lineWriter) { s.writeTest(w, users, songs) }},
		{"truth.csv", 9*len(s.train.song) + 12, s.writeTruth},
		{"train.csv", 133 * len(s.train.song), func(w *lineWriter) { s.writeTrain(w, users, songs) }},
	} {
		err := create(file.name, file.size, func(to io.Writer) error {
			w := &lineWriter{ctx: ctx, to: to, lines: lines}
			file.content(w)
			w.flush()
			return w.err
		})
		if err != nil {
			return err
		}
	}
	lines.report()
	return nil
}

// lineCounter tells the progress.
type lineCounter struct {
	done, total int64
	tell        func(done, total int64)
}

func (c *lineCounter) report() {
	if c.tell != nil {
		c.tell(c.done, c.total)
	}
}

// lineWriter collects lines in buf and passes them on in large pieces, until
// there is an error, or its context ends.
type lineWriter struct {
	ctx   context.Context
	to    io.Writer
	lines *lineCounter
	buf   []byte
	err   error
}

// end ends a line that is in buf.
func (w *lineWriter) end() {
	w.buf = append(w.buf, '\n')
	w.lines.done++
	if len(w.buf) >= 1<<18 {
		w.flush()
	}
}

func (w *lineWriter) flush() {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil {
		_, w.err = w.to.Write(w.buf)
	}
	w.buf = w.buf[:0]
	w.lines.report()
}

func (w *lineWriter) header(text string) {
	w.buf = append(append(w.buf, text...), '\n')
}

// field appends a field, in quotes where it needs them, and what separates it
// from the next.
func (w *lineWriter) field(text []byte) {
	if !bytes.ContainsAny(text, "\",\n\r") {
		w.buf = append(append(w.buf, text...), ',')
		return
	}
	w.buf = append(w.buf, '"')
	for _, c := range text {
		if c == '"' {
			w.buf = append(w.buf, '"')
		}
		w.buf = append(w.buf, c)
	}
	w.buf = append(w.buf, '"', ',')
}

// userOfRow is the user of each row, which the rows themselves leave out.
func (r *rows) userOfRow() []int32 {
	users := make([]int32, len(r.song))
	for i := range len(r.first) - 1 {
		for j := r.first[i]; j < r.first[i+1]; j++ {
			users[j] = int32(i)
		}
	}
	return users
}

func (w *lineWriter) source(s source) {
	w.buf = append(append(w.buf, tabLevels[s.tab].value...), ',')
	w.buf = append(append(w.buf, screenLevels[s.screen].value...), ',')
	w.buf = append(w.buf, typeLevels[s.kind].value...)
}

func (s *synthetic) writeTrain(w *lineWriter, users, songs []id) {
	w.header("msno,song_id,source_system_tab,source_screen_name,source_type,target")
	user := s.train.userOfRow()
	for _, r := range s.train.order {
		if w.err != nil {
			return
		}
		w.buf = append(append(w.buf, users[user[r]][:]...), ',')
		w.buf = append(append(w.buf, songs[s.train.song[r]][:]...), ',')
		w.source(s.sources[s.train.source[r]])
		if s.target[r] {
			w.buf = append(w.buf, ",1"...)
		} else {
			w.buf = append(w.buf, ",0"...)
		}
		w.end()
	}
}

func (s *synthetic) writeTruth(w *lineWriter) {
	w.header("probability")
	for _, r := range s.train.order {
		if w.err != nil {
			return
		}
		w.buf = strconv.AppendFloat(w.buf, float64(s.probability[r]), 'f', 6, 64)
		w.end()
	}
}

// writeTest writes the rows of test.csv, some of them with the screens that
// train.csv does not have.
func (s *synthetic) writeTest(w *lineWriter, users, songs []id) {
	w.header("id,msno,song_id,source_system_tab,source_screen_name,source_type")
	user := s.test.userOfRow()
	for i, r := range s.test.order {
		if w.err != nil {
			return
		}
		w.buf = append(strconv.AppendInt(w.buf, int64(i), 10), ',')
		w.buf = append(append(w.buf, users[user[r]][:]...), ',')
		w.buf = append(append(w.buf, songs[s.test.song[r]][:]...), ',')
		switch src := s.sources[s.test.source[r]]; {
		case i%5000 == 4321:
			w.buf = append(w.buf, "search,People global,"...)
			w.buf = append(w.buf, typeLevels[src.kind].value...)
		case i%5000 == 1234:
			w.buf = append(w.buf, "search,People local,"...)
			w.buf = append(w.buf, typeLevels[src.kind].value...)
		default:
			w.source(src)
		}
		w.end()
	}
}

// person is the script and number of the artist's name.
func (c *catalogue) person(artist int32) (script, int) {
	l := c.artistLanguage[artist]
	return languageLevels[l].value.script, int(artist-c.languageFirst[l]) + 200_000*int(l)
}

func (c *catalogue) appendArtist(b []byte, artist int32) []byte {
	if artist == 0 {
		return append(b, "Various Artists"...)
	}
	s, number := c.person(artist)
	return appendPerson(b, s, number)
}

// author draws one who writes songs in a language: the song's artist often, or
// else one of half as many people as it has artists, of whom the first write most.
func (c *catalogue) author(rng *rand.Rand, b []byte, l uint8, artist int32) []byte {
	if artist != 0 && rng.Float64() < .3 {
		return c.appendArtist(b, artist)
	}
	end := int32(len(c.artistLanguage))
	if int(l) < len(languageLevels)-1 {
		end = c.languageFirst[l+1]
	}
	pool := float64(end-c.languageFirst[l]) / 2
	u := rng.Float64()
	number := int(8*math.Pow((pool+8)/8, u*math.Sqrt(u)) - 8)
	return c.appendArtist(b, c.languageFirst[l]+int32(number)*2)
}

var authorSeparators = []string{"|", "|", "|", "|", "|", "/", "/ ", "、", ";"}

// authors appends n of them, apart from one another by what separates them in
// this field of the real files.
func (c *catalogue) authors(rng *rand.Rand, b []byte, n int, l uint8, artist int32) []byte {
	separator := authorSeparators[rng.IntN(len(authorSeparators))]
	for i := range n {
		if i > 0 {
			b = append(b, separator...)
		}
		b = c.author(rng, b, l, artist)
	}
	return b
}

func (s *synthetic) writeSongs(w *lineWriter, songs []id) {
	w.header("song_id,song_length,genre_ids,artist_name,composer,lyricist,language")
	rng := s.rand("songs.csv")
	genreDice := genresByLanguage()
	var text []byte
	for place, i := range rng.Perm(len(songs)) {
		if w.err != nil {
			return
		}
		f := s.fields[i]
		if f.unlisted {
			w.lines.done++
			continue
		}
		w.buf = append(append(w.buf, songs[i][:]...), ',')
		w.buf = append(strconv.AppendInt(w.buf, songLength(rng, i, place), 10), ',')
		for k := range int(f.genreCount) {
			g := f.genre
			if k > 0 {
				w.buf = append(w.buf, '|')
				for g == f.genre || genreLevels[g].value == "" {
					g = genreDice[f.language].roll(rng)
				}
			}
			w.buf = append(w.buf, genreLevels[g].value...)
		}
		w.buf = append(w.buf, ',')
		text = s.appendArtist(text[:0], s.artist[i])
		if s.artist[i] != 0 && rng.Float64() < .01 {
			text = s.author(rng, append(text, '|'), f.language, 0)
		}
		w.field(text)
		w.field(s.authors(rng, text[:0], int(f.composerCount), f.language, s.artist[i]))
		w.field(s.authors(rng, text[:0], int(f.lyricistCount), f.language, s.artist[i]))
		if place != len(songs)/2 { // one song of the real file has no language
			w.buf = append(w.buf, languageLevels[f.language].value.code...)
		}
		w.end()
	}
}

// songLength is in milliseconds. The lengths of known songs are spread less than
// those of others, and a few files are not songs at all.
func songLength(rng *rand.Rand, rank, place int) int64 {
	spread := .22
	if rank > 20_000 {
		spread = .36
	}
	length := math.Exp(12.383 + spread*rng.NormFloat64())
	switch place % 20_000 {
	case 777:
		length = 1393
	case 7777:
		length = 10_851_706
	}
	return int64(length)
}

const registrantLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func (s *synthetic) writeExtra(w *lineWriter, songs []id) {
	w.header("song_id,name,isrc")
	rng := s.rand("song_extra_info.csv")
	var text []byte
	for place, i := range rng.Perm(len(songs)) {
		if w.err != nil {
			return
		}
		f := s.fields[i]
		if place%6600 == 3300 { // these lack a row
			w.lines.done++
			continue
		}
		w.buf = append(append(w.buf, songs[i][:]...), ',')
		if place != len(songs)/3 { // one without a name
			w.field(appendTitle(text[:0], languageLevels[f.language].value.script, uint32(rng.Uint64())))
		} else {
			w.buf = append(w.buf, ',')
		}
		switch country := countryLevels[f.country].value; {
		case country == "":
		case rng.Float64() < .0003: // what is there is not always a whole code
			w.buf = append(append(w.buf, country...), "A53"...)
		default:
			// An artist's label registers the songs; several may share one code.
			label := scramble(uint32(s.artist[i]) % 997 * 31)
			w.buf = append(w.buf, country...)
			for range 3 {
				w.buf = append(w.buf, registrantLetters[label%36])
				label /= 36
			}
			w.buf = appendDigits(w.buf, yearLevels[f.year].value%100, 2)
			w.buf = appendDigits(w.buf, rng.IntN(3000), 5)
		}
		w.end()
	}
}

func appendDigits(b []byte, n, width int) []byte {
	for ; width > 0; width-- {
		p := 1
		for range width - 1 {
			p *= 10
		}
		b = append(b, byte('0'+n/p%10))
	}
	return b
}

var cityLevels = []level[string]{
	{"1", .355, 0}, {"13", .155, 0}, {"5", .1125, 0}, {"4", .074, 0}, {"15", .0656, 0}, {"22", .0624, 0}, {"6", .0374, 0}, {"14", .0321, 0},
	{"12", .0199, 0}, {"9", .012, 0}, {"11", .012, 0}, {"18", .011, 0}, {"8", .011, 0}, {"10", .010, 0}, {"17", .008, 0}, {"21", .008, 0},
	{"3", .007, 0}, {"7", .004, 0}, {"16", .001, 0}, {"20", .001, 0}, {"19", .0005, 0},
}

func (s *synthetic) writeMembers(w *lineWriter, users []id) {
	w.header("msno,city,bd,gender,registered_via,registration_init_time,expiration_date")
	rng := s.rand("members.csv")
	cityDice := diceOf(cityLevels)
	for place, i := range rng.Perm(len(users)) {
		if w.err != nil {
			return
		}
		u := &s.users[i]
		few := u.rows+u.testRows < 40
		known := rng.Float64() < .45 // users who told their gender tell their age as well
		city := cityDice.roll(rng)
		if !known && rng.Float64() < .5 {
			city = 0
		}
		age := 0
		if known {
			age = 14 + int(14*math.Exp(.6*rng.NormFloat64()))
		}
		switch place % 2000 { // ages that are none
		case 99:
			age = 1051
		case 199:
			age = -43
		case 299, 399:
			age = 100 + rng.IntN(20)
		}
		gender := ""
		if known && rng.Float64() < .94 {
			gender = []string{"female", "male"}[rng.IntN(2)]
		}
		via, trial := "", false
		switch r := rng.Float64(); {
		case few && r < .65, r < .16:
			via, trial = "4", rng.Float64() < .5
		case r > .998:
			via = "13"
		case r > .84:
			via = "3"
		case r > .50:
			via = "9"
		default:
			via = "7"
		}

		joined := time.Date(2004, 3, 26, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(4600*math.Pow(rng.Float64(), .45)))
		if via == "4" {
			joined = time.Date(2016, 3, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rng.IntN(330))
		}
		expires := time.Date(2017, 3, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(400*math.Pow(rng.Float64(), 3)))
		switch {
		case place == len(users)/2:
			expires = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
		case trial && rng.Float64() < .7:
			expires = joined.AddDate(0, 0, 3)
		case rng.Float64() < .16*(1-u.rate): // who has left cannot listen again
			expires = time.Date(2016, 9, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rng.IntN(180))
		}

		w.buf = append(append(w.buf, users[i][:]...), ',')
		w.buf = append(append(w.buf, cityLevels[city].value...), ',')
		w.buf = append(strconv.AppendInt(w.buf, int64(age), 10), ',')
		w.buf = append(append(w.buf, gender...), ',')
		w.buf = append(append(w.buf, via...), ',')
		w.buf = append(joined.AppendFormat(w.buf, "20060102"), ',')
		w.buf = expires.AppendFormat(w.buf, "20060102")
		w.end()
	}
}
