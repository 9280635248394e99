package kkbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
)

// Source says which data a problem plays on: real files, or the synthetic twin.
// The zero value is the twin of 3,000 users with seed 1.
//
// Its JSON form, which names results, holds what the data is, never where it
// lies: the settings of the twin and the version of its law, or the size and a
// checksum of the real data.
// So the real files must be there whenever it is written.
type Source struct {
	Folder string // holds the real files, in any form that Read takes with Unpacker; "" is the twin
	Users  int    // of the twin; default 3,000
	Seed   uint64 // of the twin; default 1

	// Unpacker reads files of Folder that are there as 7z archives, as Kaggle
	// gives them: sevenzip.Unpacker{} of envs/kkbox/sevenzip. Where it is nil, they
	// are an error, unless what Read has kept of them is up to date.
	Unpacker Unpacker

	// Cache is a folder in which the files of twins are kept from one program to
	// the next. Without it a twin is made anew, in memory; files that are not
	// those of the twin, for they are damaged or have been changed, are made anew
	// as well. It changes no result.
	Cache string
}

func (s Source) withDefaults() Source {
	if s.Folder == "" {
		s.Users = cmp.Or(s.Users, 3_000)
		s.Seed = cmp.Or(s.Seed, 1)
	}
	return s
}

// Progress is told how far a task is that takes seconds: what it is, and how
// much of it is done. It may be called by several goroutines, one at a time.
type Progress func(task string, done, total int64)

// Open reads the data, having written the twin first if need be. A source is
// read once in a program, and kept: later calls return the same Dataset, from
// any goroutine, even if files have changed since. An error is not kept, so a
// later call tries again. progress may be nil.
func (s Source) Open(progress Progress) (*Dataset, Report, error) {
	o, err := s.open(progress)
	if err != nil {
		return nil, Report{}, err
	}
	return o.data, o.report, nil
}

// Fields returns the features of a variant. They are made once, as the data is.
func (s Source) Fields(v Variant) (*Fields, error) {
	o, err := s.open(nil)
	if err != nil {
		return nil, err
	}
	return o.fields(v), nil
}

// MarshalJSON writes what the data is, see Source.
func (s Source) MarshalJSON() ([]byte, error) {
	s = s.withDefaults()
	if s.Folder == "" {
		return json.Marshal(struct {
			Users   int
			Seed    uint64
			Version int
		}{s.Users, s.Seed, twinVersion})
	}
	o, err := s.open(nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Rows, Users, Songs int
		Checksum           string
	}{len(o.data.User), len(o.data.Users), len(o.data.Songs), o.checksum})
}

// sources holds what has been opened, by the source with its defaults and
// without what changes no data.
var sources struct {
	sync.Mutex
	opened map[Source]*opened
}

// opened is a source that is being read, or has been.
type opened struct {
	done chan struct{} // closed when the rest is there
	err  error

	data     *Dataset
	report   Report
	checksum string // of real data
	identity string // one line

	mu       sync.Mutex
	rows     *userRows
	variants map[Variant]*Fields
}

func (s Source) open(progress Progress) (*opened, error) {
	s, key, err := s.resolve()
	if err != nil {
		return nil, err
	}
	sources.Lock()
	o := sources.opened[key]
	if o != nil {
		sources.Unlock()
		<-o.done
		if o.err != nil && s.Unpacker != nil {
			return s.open(progress) // the other may have had none
		}
		return o, o.err
	}
	o = &opened{done: make(chan struct{}), variants: map[Variant]*Fields{}}
	if sources.opened == nil {
		sources.opened = map[Source]*opened{}
	}
	sources.opened[key] = o
	sources.Unlock()

	defer func() {
		if o.err != nil {
			sources.Lock()
			delete(sources.opened, key)
			sources.Unlock()
		}
		close(o.done)
	}()
	o.err = errors.New("kkbox: the data was not read to the end") // unless load returns
	o.err = o.load(s, progress)
	return o, o.err
}

// resolve fills in the defaults and checks the settings. Sources with equal keys
// are the same data.
func (s Source) resolve() (full, key Source, err error) {
	s = s.withDefaults()
	if s.Folder == "" {
		if s.Users < 1 || s.Users > mostUsers {
			return s, key, fmt.Errorf("kkbox: Source.Users is %d, want 1 to %d", s.Users, mostUsers)
		}
		return s, Source{Users: s.Users, Seed: s.Seed}, nil
	}
	if s.Users != 0 || s.Seed != 0 {
		return s, key, fmt.Errorf("kkbox: Source has Users %d and Seed %d, settings of the twin, beside a Folder", s.Users, s.Seed)
	}
	if s.Folder, err = filepath.Abs(s.Folder); err != nil {
		return s, key, fmt.Errorf("kkbox: Source.Folder is %q: %w", s.Folder, err)
	}
	return s, Source{Folder: s.Folder}, nil
}

// users returns the rows of every user.
func (o *opened) users() *userRows {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rows == nil {
		o.rows = newUserRows(o.data)
	}
	return o.rows
}

func (o *opened) fields(v Variant) *Fields {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.variants[v] == nil {
		o.variants[v] = Encode(o.data, v)
	}
	return o.variants[v]
}

// checksum is the first 16 hexadecimal digits of the SHA-256 of all that the
// simulators use.
func checksum(data *Dataset) string {
	h := sha256.New()
	var buf []byte
	flush := func(atLeast int) {
		if len(buf) >= atLeast {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	text := func(s string) {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	for i := range data.Users {
		text(data.Users[i].ID)
		flush(1 << 16)
	}
	for i := range data.Songs {
		s := &data.Songs[i]
		for _, field := range []string{s.ID, s.Genres, s.Artist, s.Composer, s.Lyricist, s.Name, s.ISRC} {
			text(field)
		}
		for _, number := range []int32{int32(flag(s.Listed)), s.Length, int32(s.Language), s.Rows, s.ArtistSongs, s.ComposerSongs} {
			buf = binary.AppendVarint(buf, int64(number))
		}
		flush(1 << 16)
	}
	for _, levels := range [][]string{data.Tabs, data.Screens, data.Types} {
		for _, level := range levels {
			text(level)
		}
	}
	for i := range data.User {
		buf = binary.LittleEndian.AppendUint32(buf, uint32(data.User[i]))
		buf = binary.LittleEndian.AppendUint32(buf, uint32(data.Song[i]))
		buf = append(buf, data.Target[i], data.Tab[i], data.Screen[i], data.Type[i])
		flush(1 << 16)
	}
	flush(0)
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
