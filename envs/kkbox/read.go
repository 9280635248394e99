package kkbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// ReadOptions are how files are read. The zero value reads them from the cache
// where that is possible, and tells nobody how far it is.
type ReadOptions struct {
	// Unpacker reads files that are there as 7z archives. Where it is nil, they
	// are an error when they are to be read, and not their cache.
	Unpacker Unpacker

	// Progress, if it is not nil, is called now and then while files are read:
	// done of total bytes of the text of a file ("train.csv") are. Files are
	// read two or three at a time, but calls come one at a time. There are none
	// for what comes from the cache.
	Progress func(file string, done, total int64)

	// NoCache neither looks for a cache nor leaves one.
	NoCache bool
}

// The files, those that are needed first.
const (
	trainFile = iota
	songsFile
	extraFile
	membersFile
	testFile
	truthFile
	files

	needed = testFile
)

var fileNames = []string{"train.csv", "songs.csv", "song_extra_info.csv", "members.csv", "test.csv", "truth.csv"}

// Read reads the files of a folder: train.csv, songs.csv, song_extra_info.csv
// and members.csv, as well as test.csv and truth.csv where they are there. The
// last is not of the challenge: it has the true probability of each row of
// synthetic data.
//
// Every file may be there as X.csv, as X.csv in a folder X.csv, as X.csv.7z, or
// in a zip file, either way, and is looked for in that order; 7z files take an
// Unpacker. Columns are found by name. The folder may hold a part of the data:
// what differs from the whole is a warning in the report.
//
// What was read is kept beside the files in [CacheFile], and read from there as
// long as no file has another name, size or modification time. A folder that
// cannot be written is a warning.
//
// The error says which file is missing, or is a [FileError] that names file,
// line and column.
func Read(folder string, opt ReadOptions) (*Dataset, Report, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return nil, Report{}, fmt.Errorf("kkbox: %w", err)
	}
	if !info.IsDir() {
		return nil, Report{}, fmt.Errorf("kkbox: %s is a file, want the folder that it is in", folder)
	}
	fsys := os.DirFS(folder)
	sources, err := locate(fsys, fileNames, needed)
	if err != nil {
		return nil, Report{}, fmt.Errorf("kkbox: %s: %w", folder, err)
	}
	key := cacheKey(sources)
	if !opt.NoCache {
		if data, report, ok := loadCache(folder, key); ok {
			report.Cached = true
			return data, report, nil
		}
	}
	data, report, err := read(fsys, sources, opt)
	if err != nil {
		return nil, report, fmt.Errorf("kkbox: %s: %w", folder, err)
	}
	if !opt.NoCache {
		if err := keepCache(folder, key, data, report); err != nil {
			report.Warnings = append(report.Warnings, fmt.Sprintf("it cannot be kept for the next time: %v", err))
		}
	}
	return data, report, nil
}

// ReadFS is [Read] of the files in the root of a file system, without a cache.
func ReadFS(fsys fs.FS, opt ReadOptions) (*Dataset, Report, error) {
	sources, err := locate(fsys, fileNames, needed)
	if err != nil {
		return nil, Report{}, fmt.Errorf("kkbox: %w", err)
	}
	data, report, err := read(fsys, sources, opt)
	if err != nil {
		return nil, report, fmt.Errorf("kkbox: %w", err)
	}
	return data, report, nil
}

// reading is one reading of all files.
type reading struct {
	fsys     fs.FS
	sources  []*fileForm
	unpacker Unpacker
	progress func(file string, done, total int64)
	reports  []*FileReport // nil where there is no file
}

func read(fsys fs.FS, sources []*fileForm, opt ReadOptions) (*Dataset, Report, error) {
	r := &reading{fsys: fsys, sources: sources, unpacker: opt.Unpacker, reports: make([]*FileReport, files)}
	if opt.Progress != nil {
		var one sync.Mutex
		r.progress = func(file string, done, total int64) {
			one.Lock()
			defer one.Unlock()
			opt.Progress(file, done, total)
		}
	}
	// The files of songs and members are read for what the rows name alone, so
	// the rows come first.
	var train, test rowTable
	var truth []float32
	err := atOnce(
		func(stop *atomic.Bool) error { return r.rows(trainFile, &train, stop) },
		func(stop *atomic.Bool) error { return r.rows(testFile, &test, stop) },
		func(stop *atomic.Bool) error { return r.truth(&truth, stop) },
	)
	if err != nil {
		return nil, Report{}, err
	}
	read := r.reports[trainFile].Rows
	if read == 0 {
		return nil, Report{}, &FileError{File: sources[trainFile].path(), Err: errors.New("has no rows")}
	}
	if sources[truthFile] != nil && len(truth) != read {
		return nil, Report{}, &FileError{File: sources[truthFile].path(), Err: fmt.Errorf("has %d rows, want one for each of the %d of %s", len(truth), read, sources[trainFile].path())}
	}
	data := &Dataset{Probability: truth}
	r.reports[trainFile].Duplicates = train.dropDuplicates(data)
	trainSongs := len(train.songs.ids)
	index := merge(data, &train, &test)
	songs := songTable{songs: data.Songs, index: index}
	err = atOnce(
		func(stop *atomic.Bool) error { return r.songs(&songs, stop) },
		func(stop *atomic.Bool) error { return r.extra(&songs, stop) },
		func(stop *atomic.Bool) error { return r.members(data, train.users.index, stop) },
	)
	if err != nil {
		return nil, Report{}, err
	}
	data.CatalogueSize = r.reports[songsFile].Rows
	return data, newReport(data, trainSongs, r.reports), nil
}

// atOnce runs functions side by side and returns the error of the first that
// has one, in the order of the arguments. It stops those after it.
func atOnce(all ...func(stop *atomic.Bool) error) error {
	stops := make([]atomic.Bool, len(all))
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, f := range all {
		group.Go(func() {
			if errs[i] = f(&stops[i]); errs[i] != nil {
				for j := range stops[i+1:] {
					stops[i+1+j].Store(true)
				}
			}
		})
	}
	group.Wait()
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

// each reads the records of a file and calls f with every one. It does nothing
// where there is no file. A record that the file ends within is left out.
func (r *reading) each(file int, stop *atomic.Bool, columns []string, f func(*table, *FileReport) error) error {
	s := r.sources[file]
	if s == nil {
		return nil
	}
	text, total, err := s.open(r.fsys, r.unpacker)
	if err != nil {
		return err
	}
	defer text.Close()
	t, err := newTable(s.path(), &watched{text: text, name: s.name, total: total, progress: r.progress, stop: stop}, columns...)
	if err != nil {
		return err
	}
	report := &FileReport{Name: s.name, Path: s.path(), ByteOrderMark: t.byteOrder, CarriageReturns: t.returns}
	r.reports[file] = report
	for {
		ok, err := t.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if t.ragged() {
			report.Ragged++
		}
		if t.cutOff() {
			report.CutOff = true
			break
		}
		report.Rows++
		if err := f(t, report); err != nil {
			return err
		}
	}
	report.Stray = t.stray
	return nil
}

// watched tells how much was read, and can be stopped.
type watched struct {
	text        io.Reader
	name        string
	done, total int64
	progress    func(file string, done, total int64)
	stop        *atomic.Bool
}

func (w *watched) Read(p []byte) (int, error) {
	if w.stop.Load() {
		return 0, errStopped
	}
	n, err := w.text.Read(p)
	if w.done += int64(n); w.progress != nil && n > 0 {
		w.progress(w.name, w.done, w.total)
	}
	return n, err
}
