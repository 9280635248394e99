package kkbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
)

// Source says which data a problem plays on: real files, or the synthetic twin.
// The zero value is the twin of 3,000 users with seed 1.
//
// Its JSON form, which names results, holds what the data is, never where it
// lies: the settings of the twin, or the size and a checksum of the real data.
// So the real files must be there whenever it is written.
type Source struct {
	Folder string // holds the real files, in any form that Read takes; "" is the twin
	Users  int    // of the twin; default 3,000
	Seed   uint64 // of the twin; default 1

	// Cache is a folder in which the files of twins are kept from one program to
	// the next. Without it a twin is made anew, in memory. It changes no result.
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
func (s Source) Open(progress Progress) (*Dataset, error) {
	o, err := s.open(progress)
	if err != nil {
		return nil, err
	}
	return o.data, nil
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
			Users int
			Seed  uint64
		}{s.Users, s.Seed})
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
