package kkbox

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Synthetic declares a data set with the form and the published statistics of
// the KKBox challenge's, for all who do not have the real one. Write and Files
// give it as files that Read takes for the real ones.
//
// A set of U users is what a sample of U of the 30,755 users of the real
// train.csv would be: about 240 rows a user, of songs drawn by one law of
// popularity whatever U. So 3,000 users hear about 100,000 different songs, and
// 30,755 about 345,000, where the real ones hear 359,966. songs.csv has 2,296,320
// rows at full size and in proportion to U to the power of 0.8 otherwise.
//
// At full size the files take 1.8 GB, those of 3,000 users 0.2 GB.
//
// The law of the target is a logistic one,
//
//	logit P(again) = user + source + song's fields + artist + song + popularity + taste of the user · traits of the song + habit of the user with the source + time + noise
//
// whose terms are normal, or are found by matching the published means of the
// target by source, language, country and year of a song, counts of its genres,
// composers and lyricists, and time, and for each user a rate of its own. The
// probability that a row's target was drawn with is in truth.csv, which real
// data has no counterpart of.
//
// The same settings give the same files, byte for byte. The zero value is the
// set that the experiments play on without real data.
type Synthetic struct {
	Users int    // of train.csv; default 3000, at most 200000
	Seed  uint64 // default 1
}

const mostUsers = 200_000

func (s Synthetic) withDefaults() Synthetic {
	s.Users = cmp.Or(s.Users, 3000)
	s.Seed = cmp.Or(s.Seed, 1)
	return s
}

func (s Synthetic) check() error {
	if s.Users < 1 || s.Users > mostUsers {
		return fmt.Errorf("kkbox: Synthetic.Users is %d, want 1 to %d", s.Users, mostUsers)
	}
	return nil
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (s Synthetic) MarshalJSON() ([]byte, error) {
	type plain Synthetic
	return json.Marshal(plain(s.withDefaults()))
}

// Write makes the set and writes it to the folder, which is made if there is
// none: train.csv, test.csv, songs.csv, song_extra_info.csv, members.csv and
// truth.csv, whose rows are the probabilities of train.csv's targets, under the
// header "probability".
//
// All files get their names once all are written; files of an earlier synthetic
// set are replaced. A folder that has a train.csv without a truth.csv holds real
// data, and Write returns an error instead of replacing it.
//
// Progress, where it is not nil, is told now and then how many lines are
// written, of how many. When ctx ends, Write returns its error soon, and leaves
// the folder as it was.
func (s Synthetic) Write(ctx context.Context, folder string, progress func(done, total int64)) (err error) {
	s = s.withDefaults()
	if err := s.check(); err != nil {
		return err
	}
	if isFile(filepath.Join(folder, "train.csv")) && !isFile(filepath.Join(folder, "truth.csv")) {
		return fmt.Errorf("kkbox: %s has a train.csv that is not a synthetic one, and it is not replaced", folder)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("kkbox: synthetic set: %w", err)
	}
	var temporary, final []string
	defer func() {
		if err != nil {
			for _, name := range temporary {
				os.Remove(name)
			}
			err = fmt.Errorf("kkbox: synthetic set: %w", err)
		}
	}()
	set, err := s.draw(ctx)
	if err != nil {
		return err
	}
	err = set.write(ctx, func(name string, _ int, content func(io.Writer) error) error {
		f, err := os.CreateTemp(folder, "."+name+".*")
		if err != nil {
			return err
		}
		temporary, final = append(temporary, f.Name()), append(final, filepath.Join(folder, name))
		w := bufio.NewWriterSize(f, 1<<20)
		if err := cmp.Or(content(w), w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
			f.Close()
			return err
		}
		return nil
	}, progress)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// No train.csv is ever beside files of another set, whatever happens here.
	if err := os.Remove(filepath.Join(folder, "train.csv")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i, name := range temporary {
		if err := os.Rename(name, final[i]); err != nil {
			return err
		}
	}
	return nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// Files makes the set in memory, for ReadFS: about 50 kB a user.
func (s Synthetic) Files() (fs.FS, error) {
	s = s.withDefaults()
	if err := s.check(); err != nil {
		return nil, err
	}
	files := memory{}
	ctx := context.Background()
	set, err := s.draw(ctx)
	if err != nil {
		return nil, err
	}
	err = set.write(ctx, func(name string, size int, content func(io.Writer) error) error {
		b := make(blob, 0, size+1<<12)
		err := content(&b)
		files[name] = b
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return files, nil
}
