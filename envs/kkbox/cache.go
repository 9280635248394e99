package kkbox

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// CacheFile is the file that [Read] leaves in the folder of the data. It may be
// removed at any time.
const CacheFile = "contextrec.cache"

// The cache is, in little endian: cacheMark; the length of the rest and its
// checksum (CRC-32C), 8 and 4 bytes; the key; the report in JSON; the data.
// Another layout of the data, or another way to read the files, has another
// mark.
const (
	cacheMark   = "contextrec kkbox 1\n"
	cacheHead   = len(cacheMark) + 8 + 4
	leftoverAge = time.Hour // of what a killed process left
)

// cacheKey tells sources apart: a line a file.
func cacheKey(sources []*fileForm) string {
	var key []byte
	for i, s := range sources {
		if s == nil {
			key = fmt.Appendf(key, "%s -\n", fileNames[i])
		} else {
			key = fmt.Appendf(key, "%s %q %q %d %d\n", s.name, s.outer, s.inner, s.size, s.modified.UnixNano())
		}
	}
	return string(key)
}

// loadCache reports false where there is no cache of these sources, or a damaged
// one.
func loadCache(folder, key string) (*Dataset, Report, bool) {
	b, err := os.ReadFile(filepath.Join(folder, CacheFile))
	if err != nil {
		return nil, Report{}, false
	}
	return decodeCache(b, key)
}

// keepCache writes the cache under a temporary name and renames it when it is
// safe on disk: nobody ever reads half of one.
func keepCache(folder, key string, data *Dataset, report Report) error {
	b, err := encodeCache(key, data, report)
	if err != nil {
		return err
	}
	const temporaries = "." + CacheFile + "-"
	removeLeftovers(folder, temporaries)
	f, err := os.OpenFile(filepath.Join(folder, temporaries+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(folder, CacheFile))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// removeLeftovers removes what killed processes left of their temporary files.
func removeLeftovers(folder, prefix string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // the folder can be written, and more is not needed
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > leftoverAge {
			os.Remove(filepath.Join(folder, entry.Name()))
		}
	}
}

// A cacheWriter appends what a cacheReader reads.
type cacheWriter struct {
	b     []byte
	texts map[string]uint32 // numbers of the texts that songs share
	list  []string
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeCache(key string, data *Dataset, report Report) ([]byte, error) {
	told, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	rows, songs := len(data.User), len(data.Songs)
	e := &cacheWriter{texts: make(map[string]uint32, songs)}
	e.b = make([]byte, cacheHead, cacheHead+rows*(4+4+1+3+4)+songs*200+len(data.Users)*80)
	e.text(key)
	e.text(string(told))
	e.number(len(data.Users), len(data.Songs), rows, data.TestRows, data.CatalogueSize)
	e.strings(data.Tabs)
	e.strings(data.Screens)
	e.strings(data.Types)
	e.int32s(data.User)
	e.int32s(data.Song)
	for _, column := range [][]uint8{data.Target, data.Tab, data.Screen, data.Type} {
		e.b = append(e.b, column...)
	}
	e.number(len(data.Probability))
	for _, p := range data.Probability {
		e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(p))
	}
	ids := make([]string, 0, max(rows, songs))
	for _, u := range data.Users {
		ids = append(ids, u.ID)
		member := byte(0)
		if u.Member {
			member = 1
		}
		e.b = append(e.b, member, u.City, u.Age, uint8(u.Gender), u.RegisteredBy)
		e.int32s([]int32{u.Registered, u.Expires})
	}
	e.strings(ids)
	ids = ids[:0]
	for _, s := range data.Songs {
		ids = append(ids, s.ID)
		listed := byte(0)
		if s.Listed {
			listed = 1
		}
		e.b = append(e.b, listed)
		e.b = binary.LittleEndian.AppendUint16(e.b, uint16(s.Language))
		e.int32s([]int32{s.Length, s.Rows, s.ArtistSongs, s.ComposerSongs})
		for _, text := range []string{s.Genres, s.Artist, s.Composer, s.Lyricist, s.Name, s.ISRC} {
			e.shared(text)
		}
	}
	e.strings(ids)
	e.strings(e.list)
	copy(e.b, cacheMark)
	binary.LittleEndian.PutUint64(e.b[len(cacheMark):], uint64(len(e.b)-cacheHead))
	binary.LittleEndian.PutUint32(e.b[len(cacheMark)+8:], crc32.Checksum(e.b[cacheHead:], castagnoli))
	return e.b, nil
}

func (e *cacheWriter) number(numbers ...int) {
	for _, n := range numbers {
		e.b = binary.LittleEndian.AppendUint64(e.b, uint64(n))
	}
}

func (e *cacheWriter) int32s(numbers []int32) {
	for _, n := range numbers {
		e.b = binary.LittleEndian.AppendUint32(e.b, uint32(n))
	}
}

func (e *cacheWriter) text(s string) {
	e.number(len(s))
	e.b = append(e.b, s...)
}

// strings appends how many there are, their lengths, and all of them as one.
func (e *cacheWriter) strings(list []string) {
	total := 0
	e.number(len(list))
	for _, s := range list {
		e.b = binary.LittleEndian.AppendUint32(e.b, uint32(len(s)))
		total += len(s)
	}
	e.number(total)
	for _, s := range list {
		e.b = append(e.b, s...)
	}
}

// shared appends the number of a text in the list of all.
func (e *cacheWriter) shared(s string) {
	n, ok := e.texts[s]
	if !ok {
		n = uint32(len(e.list))
		e.texts[s] = n
		e.list = append(e.list, s)
	}
	e.b = binary.LittleEndian.AppendUint32(e.b, n)
}

// A cacheReader reads what a cacheWriter appended. Where it ends too soon, it is broken
// and everything more is zero.
type cacheReader struct {
	b      []byte
	broken bool
}

func decodeCache(b []byte, key string) (*Dataset, Report, bool) {
	if len(b) < cacheHead || string(b[:len(cacheMark)]) != cacheMark {
		return nil, Report{}, false
	}
	length, sum := binary.LittleEndian.Uint64(b[len(cacheMark):]), binary.LittleEndian.Uint32(b[len(cacheMark)+8:])
	b = b[cacheHead:]
	if length != uint64(len(b)) || sum != crc32.Checksum(b, castagnoli) {
		return nil, Report{}, false
	}
	d := &cacheReader{b: b}
	if d.text() != key {
		return nil, Report{}, false
	}
	var report Report
	if json.Unmarshal([]byte(d.text()), &report) != nil {
		return nil, Report{}, false
	}
	const userBytes, songBytes = 5 + 2*4, 3 + 4*4 + 6*4
	users, songs, rows := d.count(userBytes), d.count(songBytes), d.count(4+4+4)
	data := &Dataset{TestRows: d.count(0), CatalogueSize: d.count(0)}
	data.Tabs, data.Screens, data.Types = d.strings(), d.strings(), d.strings()
	data.User, data.Song = d.int32s(rows), d.int32s(rows)
	for _, column := range []*[]uint8{&data.Target, &data.Tab, &data.Screen, &data.Type} {
		*column = bytes.Clone(d.take(rows))
	}
	if known := d.count(4); known > 0 {
		data.Probability = make([]float32, known)
		for i, bits := range d.int32s(known) {
			data.Probability[i] = math.Float32frombits(uint32(bits))
		}
	}
	data.Users = make([]User, users)
	for i := range data.Users {
		f := d.take(userBytes)
		if d.broken {
			return nil, Report{}, false
		}
		data.Users[i] = User{Member: f[0] != 0, City: f[1], Age: f[2], Gender: Gender(f[3]), RegisteredBy: f[4],
			Registered: int32(binary.LittleEndian.Uint32(f[5:])), Expires: int32(binary.LittleEndian.Uint32(f[9:]))}
	}
	userIDs := d.strings()
	records := d.take(songs * songBytes)
	songIDs, texts := d.strings(), d.strings()
	if d.broken || len(d.b) > 0 || len(userIDs) != users || len(songIDs) != songs {
		return nil, Report{}, false
	}
	for i, id := range userIDs {
		data.Users[i].ID = id
	}
	data.Songs = make([]Song, songs)
	for i, id := range songIDs {
		f := records[i*songBytes:]
		word := func(at int) uint32 { return binary.LittleEndian.Uint32(f[3+4*at:]) }
		s := &data.Songs[i]
		*s = Song{ID: id, Listed: f[0] != 0, Language: int16(binary.LittleEndian.Uint16(f[1:])),
			Length: int32(word(0)), Rows: int32(word(1)), ArtistSongs: int32(word(2)), ComposerSongs: int32(word(3))}
		for at, text := range []*string{&s.Genres, &s.Artist, &s.Composer, &s.Lyricist, &s.Name, &s.ISRC} {
			n := word(4 + at)
			if n >= uint32(len(texts)) {
				return nil, Report{}, false
			}
			*text = texts[n]
		}
	}
	return data, report, data.whole()
}

// whole tells whether all columns are of the same length and all numbers within
// what they count.
func (d *Dataset) whole() bool {
	rows := len(d.User)
	if d.Probability != nil && len(d.Probability) != rows {
		return false
	}
	for i := range rows {
		if uint(d.User[i]) >= uint(len(d.Users)) || uint(d.Song[i]) >= uint(len(d.Songs)) || d.Target[i] > 1 ||
			int(d.Tab[i]) >= len(d.Tabs) || int(d.Screen[i]) >= len(d.Screens) || int(d.Type[i]) >= len(d.Types) {
			return false
		}
	}
	return true
}

func (d *cacheReader) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.broken = true
		d.b = nil
		return nil
	}
	taken := d.b[:n]
	d.b = d.b[n:]
	return taken
}

// count reads how many things there are that take as many bytes each, at least.
func (d *cacheReader) count(each int) int {
	f := d.take(8)
	if d.broken {
		return 0
	}
	n := binary.LittleEndian.Uint64(f)
	if n > math.MaxInt32 || int(n)*each > len(d.b) {
		d.broken = true
		d.b = nil
		return 0
	}
	return int(n)
}

func (d *cacheReader) int32s(n int) []int32 {
	f := d.take(4 * n)
	if d.broken {
		return nil
	}
	numbers := make([]int32, n)
	for i := range numbers {
		numbers[i] = int32(binary.LittleEndian.Uint32(f[4*i:]))
	}
	return numbers
}

func (d *cacheReader) text() string { return string(d.take(d.count(1))) }

func (d *cacheReader) strings() []string {
	n := d.count(4)
	lengths := d.int32s(n)
	all := d.text()
	if d.broken {
		return nil
	}
	list := make([]string, n)
	for i, length := range lengths {
		if length < 0 || int(length) > len(all) {
			d.broken = true
			d.b = nil
			return nil
		}
		list[i], all = all[:length], all[length:]
	}
	return list
}
