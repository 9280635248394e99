// Package kkbox has the music experiments of the paper (section 6.1): a reader of the files of the
// KKBox Music Recommendation Challenge, synthetic data for all who do not have them, the 94
// features of a song, and the two simulators, [MusicStateless] and [MusicState].
//
// The simulators play on a [Source], a folder of real files or the settings of synthetic data:
//
//	problem := kkbox.MusicState{Source: kkbox.Source{Folder: "kkbox", Unpacker: sevenzip.Unpacker{}}}
//	env, err := problem.New(seeds)
package kkbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
)

// Dataset is what the simulators and the features use of the data: who heard what, in the order of
// time, whether they listened again, and the songs. The length of every column is the number of
// rows. Nothing changes a Dataset once it is made.
type Dataset struct {
	Users []string // msno, in the order of their first row
	Songs []Song   // of train.csv in the order of their first row, then those of test.csv alone

	// The rows of train.csv, in its order, which is that of time.
	User   []int32 // index in Users
	Song   []int32 // index in Songs
	Target []uint8 // 1 if the user listened again within a month, else 0
	Type   []uint8 // index in Types: source_type, how the user came upon the song

	Types []string // the first is "", which stands for a missing one

	// Probability is the true probability of each row's target, where the data
	// is synthetic; nil for real data.
	Probability []float32

	// Notes are what was found in the files, a sentence each: how many rows there
	// are, and what is odd or differs from the data of the challenge.
	Notes []string
}

// Song is a row of songs.csv joined with one of song_extra_info.csv.
type Song struct {
	ID string // song_id

	Listed   bool  // whether songs.csv has it; the fields down to Language are zero if not
	Length   int32 // song_length in milliseconds, 0 if unknown
	Genres   string
	Artist   string
	Composer string
	Lyricist string
	Language int16 // code, 0 if missing

	Name string // of song_extra_info.csv, "" if missing
	ISRC string // likewise

	Rows          int32 // rows of train.csv and test.csv with the song
	ArtistSongs   int32 // songs of the same artist_name in songs.csv
	ComposerSongs int32 // songs of the same first composer in songs.csv, 0 if it has no composer
}

// Source says which data a problem plays on: real files or, the default, synthetic data. Its JSON
// form, which names results, holds what the data is and not where it lies: the settings and the
// version of synthetic data, or the size and a checksum of the real files, which must be there.
type Source struct {
	Folder   string   // holds the real files, in any form that Read takes; "" is synthetic data
	Unpacker Unpacker // reads files of Folder that are there as 7z archives, see Read

	Users int    // of synthetic data, see Synthetic; default 3,000
	Seed  uint64 // of synthetic data; default 1
}

// syntheticVersion is raised when the same settings give other synthetic data.
const syntheticVersion = 2

func (s Source) withDefaults() Source {
	s.Users, s.Seed = cmp.Or(s.Users, 3_000), cmp.Or(s.Seed, 1)
	return s
}

// Open reads the data, or makes it: some seconds, or a minute or two for archives at first. A source
// is kept once it is opened: later calls return the same Dataset, from any goroutine, even if files
// have changed since.
func (s Source) Open() (*Dataset, error) {
	o, err := s.open()
	return o.data, err
}

// MarshalJSON writes what the data is, see Source.
func (s Source) MarshalJSON() ([]byte, error) {
	if s.Folder == "" {
		s = s.withDefaults()
		return json.Marshal(map[string]any{"Users": s.Users, "Seed": s.Seed, "Version": syntheticVersion})
	}
	o, err := s.open()
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"Rows": len(o.data.User), "Users": len(o.data.Users), "Songs": len(o.data.Songs), "Checksum": o.identity})
}

type opened struct {
	data     *Dataset
	fields   Fields
	identity string    // one line
	rows     [][]int32 // by user, in the order of time
}

// sources holds what has been opened, by the source without its Unpacker.
var sources = struct {
	sync.Mutex
	opened map[Source]opened
}{opened: map[Source]opened{}}

func (s Source) open() (opened, error) {
	key := s.withDefaults()
	key.Unpacker = nil
	if s.Folder != "" && (s.Users != 0 || s.Seed != 0) {
		return opened{}, fmt.Errorf("kkbox: Source has Users %d and Seed %d, settings of synthetic data, beside a Folder", s.Users, s.Seed)
	}
	sources.Lock()
	defer sources.Unlock()
	if o, ok := sources.opened[key]; ok {
		return o, nil
	}
	var o opened
	var err error
	if s.Folder == "" {
		o.data, err = Synthetic(key.Users, key.Seed)
		o.identity = fmt.Sprintf("synthetic %d of %d users, seed %d", syntheticVersion, key.Users, key.Seed)
	} else if o.data, err = Read(s.Folder, s.Unpacker); err == nil {
		o.identity = o.data.checksum()
	}
	if err != nil {
		return opened{}, err
	}
	o.fields, o.rows = Encode(o.data), make([][]int32, len(o.data.Users))
	for row, user := range o.data.User {
		o.rows[user] = append(o.rows[user], int32(row))
	}
	sources.opened[key] = o
	return o, nil
}

// checksum is the first 16 hexadecimal digits of the SHA-256 of all that the
// simulators use. A hash takes all that is written.
func (d *Dataset) checksum() string {
	h := sha256.New()
	json.NewEncoder(h).Encode([]any{d.Users, d.Songs, d.Types})
	for _, column := range []any{d.User, d.Song, d.Target, d.Type} {
		binary.Write(h, binary.LittleEndian, column)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
