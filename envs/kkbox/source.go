package kkbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
)

// Source says which data a problem plays on: real files, or synthetic data. The
// zero value is synthetic data of 3,000 users with seed 1.
//
// Its JSON form, which names results, holds what the data is and not where it lies: the settings of
// synthetic data and the version of their law, or the size and a checksum of the real data. So the
// real files must be there whenever it is written.
type Source struct {
	Folder   string   // holds the real files, in any form that Read takes; "" is synthetic data
	Unpacker Unpacker // reads files of Folder that are there as 7z archives, see Read

	Users int    // of synthetic data, see Synthetic; default 3,000
	Seed  uint64 // of synthetic data; default 1
}

// syntheticVersion is raised when the same settings give other synthetic data.
const syntheticVersion = 2

func (s Source) withDefaults() Source {
	if s.Folder == "" {
		s.Users = cmp.Or(s.Users, 3_000)
		s.Seed = cmp.Or(s.Seed, 1)
	}
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
	s = s.withDefaults()
	if s.Folder == "" {
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
	fields   *Fields
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
