package kkbox_test

import (
	"archive/zip"
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/kkbox/sevenzip"
)

// The files of smallData as 7-Zip 26.02 packs them, "7z a -m0=LZMA2:24 X.csv.7z
// X.csv", each alone.
//
//go:embed testdata/small/*.csv.7z
var packed embed.FS

func pack(t testing.TB, name string) string {
	t.Helper()
	b, err := packed.ReadFile("testdata/small/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// zipped is a zip file of files, compressed or only stored.
func zipped(t testing.TB, files map[string]string, method uint16) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// named renames files, each by a function of its name.
func named(files map[string]string, name func(string) string) map[string]string {
	renamed := map[string]string{}
	for n, text := range files {
		renamed[name(n)] = text
	}
	return renamed
}

// archives is the files of smallData, packed.
func archives(t testing.TB) map[string]string {
	all := map[string]string{}
	for name := range small() {
		all[name+".7z"] = pack(t, name+".7z")
	}
	return all
}

func TestReadTakesEveryForm(t *testing.T) {
	within := func(folder string) func(string) string {
		return func(name string) string { return folder + "/" + name }
	}
	for name, folder := range map[string]map[string]string{
		"plain":                     small(),
		"folder of its own name":    named(small(), func(n string) string { return n + "/" + n }),
		"7z":                        archives(t),
		"zip of csv":                {"all.zip": zipped(t, small(), zip.Deflate)},
		"zip of csv in folders":     {"all.zip": zipped(t, named(small(), within("a/b")), zip.Deflate)},
		"zip of 7z, stored":         {"all.zip": zipped(t, archives(t), zip.Store)},
		"zip of 7z, compressed":     {"all.zip": zipped(t, named(archives(t), within("kkbox")), zip.Deflate)},
		"some here and some in zip": {"train.csv": trainText, "songs.csv.7z": pack(t, "songs.csv.7z"), "rest.zip": zipped(t, archives(t), zip.Deflate)},
		"a zip for each": {
			"1.zip": zipped(t, map[string]string{"train.csv": trainText}, zip.Deflate), "2.zip": zipped(t, map[string]string{"test.csv.7z": pack(t, "test.csv.7z")}, zip.Deflate),
			"3.zip": zipped(t, map[string]string{"songs.csv/songs.csv": songsText, "members.csv": membersText}, zip.Deflate), "4.zip": zipped(t, map[string]string{"song_extra_info.csv": extraText}, zip.Deflate),
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, _ := read(t, memory(folder))
			same(t, data, smallData())
		})
	}
}

// The plain file is the one that a user looked at and may have changed.
func TestReadPrefersThePlainFile(t *testing.T) {
	folder := archives(t)
	folder["members.csv"] = strings.Replace(membersText, "female", "male", 1)
	folder["all.zip"] = zipped(t, small(), zip.Deflate)
	data, report := read(t, memory(folder))
	if data.Users[0].Gender != kkbox.Male {
		t.Errorf("members.csv.7z or the zip was read, not members.csv")
	}
	if got := report.Files[3].Path; got != "members.csv" {
		t.Errorf("the report says that %q was read", got)
	}
}

func TestReadWithoutTest(t *testing.T) {
	folder := small()
	delete(folder, "test.csv")
	data, _ := read(t, memory(folder))
	// s4 is of test.csv alone, and s2 has one row in train.csv.
	if len(data.Songs) != 3 || data.TestRows != 0 || data.Songs[1].Rows != 1 {
		t.Errorf("got %d songs, %d rows of test.csv and %d rows of s2, want 3, 0 and 1", len(data.Songs), data.TestRows, data.Songs[1].Rows)
	}
}

func TestReadTruth(t *testing.T) {
	folder := small()
	folder["truth.csv"] = lines("probability", "0.75", "0.125", "0", "1")
	data, report := read(t, memory(folder))
	want := smallData()
	want.Probability = []float32{0.75, 0.125, 0, 1}
	same(t, data, want)
	if !report.Synthetic {
		t.Error("the report does not say that the data are synthetic")
	}
}

// slow is a file system whose files come in pieces, and can be read in order
// alone.
type slow struct {
	fs.FS
	pieces func(io.Reader) io.Reader
}

type slowFile struct {
	fs.File
	r io.Reader
}

func (f slowFile) Read(p []byte) (int, error) { return f.r.Read(p) }

func (s slow) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return f, err
	}
	return slowFile{File: f, r: s.pieces(f)}, nil
}

func (s slow) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(s.FS, name) }

func TestReadDoesNotMindHowFilesCome(t *testing.T) {
	mixed := archives(t)
	maps.DeleteFunc(mixed, func(name, _ string) bool { return name == "songs.csv.7z" || name == "train.csv.7z" })
	mixed["songs.csv"] = songsText
	mixed["a.zip"] = zipped(t, map[string]string{"train.csv": trainText}, zip.Deflate)
	for name, pieces := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "halves": iotest.HalfReader, "end with data": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			data, _ := read(t, slow{memory(mixed), pieces})
			same(t, data, smallData())
		})
	}
}

func TestReadTellsOfAFailingDisk(t *testing.T) {
	broken := errors.New("input/output error")
	fails := func(r io.Reader) io.Reader { return io.MultiReader(io.LimitReader(r, 100), iotest.ErrReader(broken)) }
	_, _, err := kkbox.ReadFS(slow{memory(small()), fails}, unpacking)
	var where *kkbox.FileError
	// The first 100 bytes of train.csv are its header, 69, and most of line 2.
	if !errors.Is(err, broken) || !errors.As(err, &where) || where.File != "train.csv" || where.Line != 2 {
		t.Errorf("got %v, want the failure at line 2 of train.csv", err)
	}
}

func TestReadNamesWhatIsMissing(t *testing.T) {
	folder := small()
	delete(folder, "members.csv")
	delete(folder, "train.csv")
	folder["other.zip"] = zipped(t, map[string]string{"readme": "nothing"}, zip.Deflate)
	folder["damaged.zip"] = "not a zip"
	_, _, err := kkbox.ReadFS(memory(folder), unpacking)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want one that is fs.ErrNotExist", err)
	}
	for _, want := range []string{"train.csv, members.csv", "train.csv/train.csv", "train.csv.7z", "other.zip", "damaged.zip: is no zip file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
}

// Whatever is left of an archive, nothing but all of it is read.
func TestReadRefusesAnArchiveThatIsCutOff(t *testing.T) {
	whole := pack(t, "songs.csv.7z")
	folder := memory(small()).(fstest.MapFS)
	delete(folder, "songs.csv")
	for n := range len(whole) {
		folder["songs.csv.7z"] = &fstest.MapFile{Data: []byte(whole[:n])}
		_, _, err := kkbox.ReadFS(folder, unpacking)
		var where *kkbox.FileError
		if !errors.As(err, &where) || where.File != "songs.csv.7z" || !strings.Contains(err.Error(), "damaged or cut off") {
			t.Fatalf("%d of %d bytes: got %v, want an error that says that songs.csv.7z is damaged", n, len(whole), err)
		}
	}
}

// A changed byte is found, or is one of those that do not matter, as the time
// of the file is.
func TestReadNeverTakesADamagedArchiveForAnother(t *testing.T) {
	whole := pack(t, "members.csv.7z")
	folder := memory(small()).(fstest.MapFS)
	delete(folder, "members.csv")
	refused := 0
	for at := range len(whole) {
		changed := []byte(whole)
		changed[at] ^= 0x5a
		folder["members.csv.7z"] = &fstest.MapFile{Data: changed}
		data, _, err := kkbox.ReadFS(folder, unpacking)
		if err != nil {
			refused++
			continue
		}
		same(t, data, smallData())
	}
	if refused < len(whole)*9/10 {
		t.Errorf("only %d of %d changes were found", refused, len(whole))
	}
}

// Checksums that are right are no reason to trust a header: one that is packed,
// and two that are not, of a stream for all files and of one for each.
func TestReadSurvivesAnArchiveMadeToHarm(t *testing.T) {
	for _, archive := range []string{"small/members.csv.7z", "forms/deflate.7z", "forms/lzma2-each.7z"} {
		t.Run(path.Base(archive), func(t *testing.T) { surviveHarm(t, archive) })
	}
}

func surviveHarm(t *testing.T, archive string) {
	of := packed
	if strings.HasPrefix(archive, "forms/") {
		of = forms
	}
	whole, err := of.ReadFile("testdata/" + archive)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	header := 32 + int(le.Uint64(whole[12:])) // behind the packed streams
	folder := memory(small()).(fstest.MapFS)
	delete(folder, "members.csv")
	taken := 0
	for at := header; at < len(whole); at++ {
		for _, change := range []byte{1, 0x5a, 0x80, 0xff} {
			changed := bytes.Clone(whole)
			changed[at] ^= change
			le.PutUint32(changed[28:], crc32.ChecksumIEEE(changed[header:]))
			le.PutUint32(changed[8:], crc32.ChecksumIEEE(changed[12:32]))
			folder["members.csv.7z"] = &fstest.MapFile{Data: changed}
			data, _, err := kkbox.ReadFS(folder, unpacking)
			var where *kkbox.FileError
			if err == nil {
				same(t, data, smallData())
				taken++
			} else if !errors.As(err, &where) || where.File != "members.csv.7z" {
				t.Fatalf("byte %d changed by %#x: got %v, want an error of members.csv.7z", at, change, err)
			}
		}
	}
	if taken == 0 { // the time of the file, at least, may be any
		t.Error("all headers were refused: their checksums are not right")
	}
}

func TestReadRefusesAnArchiveOfSomethingElse(t *testing.T) {
	folder := small()
	delete(folder, "songs.csv")
	folder["songs.csv.7z"] = pack(t, "train.csv.7z")
	_, _, err := kkbox.ReadFS(memory(folder), unpacking)
	if err == nil || !strings.Contains(err.Error(), `songs.csv.7z: has no songs.csv: it holds 1 files, ["train.csv"]`) {
		t.Errorf("got %v, want an error that tells what it holds", err)
	}
}

func TestReadTellsHowFarItIs(t *testing.T) {
	done, totals := map[string]int64{}, map[string]int64{}
	progress := func(file string, read, total int64) {
		if read <= done[file] {
			t.Errorf("%s: %d bytes after %d", file, read, done[file])
		}
		done[file], totals[file] = read, total
	}
	folder := slow{memory(small()), iotest.HalfReader}
	if _, _, err := kkbox.ReadFS(folder, kkbox.ReadOptions{Unpacker: sevenzip.Unpacker{}, Progress: progress}); err != nil {
		t.Fatal(err)
	}
	for name, text := range small() {
		if done[name] != int64(len(text)) || totals[name] != int64(len(text)) {
			t.Errorf("%s: %d of %d bytes at the end, want %d", name, done[name], totals[name], len(text))
		}
	}
}

func ExampleReadFS() {
	folder := fstest.MapFS{}
	for name, text := range small() {
		folder[name] = &fstest.MapFile{Data: []byte(text), ModTime: time.Now()}
	}
	data, _, err := kkbox.ReadFS(folder, unpacking)
	if err != nil {
		fmt.Println(err)
		return
	}
	row := 2
	user, song := data.Users[data.User[row]], data.Songs[data.Song[row]]
	fmt.Println(user.ID, user.Age, song.Name, data.Types[data.Type[row]], data.Target[row])
	// Output: ann= 27 Heroes listen-with 0
}

// Archives of 7-Zip 26.02 that hold all files of smallData, in a folder, some of
// them beside another folder with an empty file.
//
//go:embed testdata/forms/*.7z
var forms embed.FS

// allIn is the same archive in the place of each file.
func allIn(t testing.TB, archive string) fs.FS {
	t.Helper()
	b, err := forms.ReadFile("testdata/forms/" + archive)
	if err != nil {
		t.Fatal(err)
	}
	folder := map[string]string{}
	for name := range small() {
		folder[name+".7z"] = string(b)
	}
	return memory(folder)
}

func TestReadTakesArchivesOfManyKinds(t *testing.T) {
	for _, archive := range []string{
		"lzma.7z",        // 7z a -m0=LZMA:d=64k
		"stored.7z",      // -mx=0
		"bzip2.7z",       // -m0=BZip2
		"deflate.7z",     // -m0=Deflate -mhc=off: the header is not packed
		"lzma2-each.7z",  // -ms=off -mhc=off: a stream for each file
		"lzma2-pairs.7z", // -ms=2f: a stream for two files
		"ppmd.7z",        // -m0=PPMd
		"bcj.7z",         // -m0=BCJ -m1=LZMA
	} {
		t.Run(archive, func(t *testing.T) {
			data, _ := read(t, allIn(t, archive))
			same(t, data, smallData())
		})
	}
}

func TestReadTellsOfPasswords(t *testing.T) {
	for _, archive := range []string{
		"password.7z",        // -pX
		"password-header.7z", // -pX -mhe=on
	} {
		_, _, err := kkbox.ReadFS(allIn(t, archive), unpacking)
		if err == nil || !strings.Contains(err.Error(), ".csv.7z: the archive is packed with a password, which is not asked for here: unpack it with 7-Zip") {
			t.Errorf("%s: got %v, want an error that tells of the password", archive, err)
		}
	}
}

func TestReadWithoutUnpacker(t *testing.T) {
	for name, folder := range map[string]map[string]string{
		"songs.csv.7z":          with("songs.csv.7z", pack(t, "songs.csv.7z")),
		"all.zip: songs.csv.7z": with("all.zip", zipped(t, map[string]string{"songs.csv.7z": pack(t, "songs.csv.7z")}, zip.Store)),
	} {
		delete(folder, "songs.csv")
		_, _, err := kkbox.ReadFS(memory(folder), kkbox.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), name+": is a 7z archive, and there is no Unpacker: use that of envs/kkbox/sevenzip") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// An archive that is broken within a zip file is told as one that is broken.
func TestReadDamagedArchiveInZip(t *testing.T) {
	folder := small()
	delete(folder, "songs.csv")
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		outer := []byte(zipped(t, map[string]string{"songs.csv.7z": pack(t, "songs.csv.7z")}, method))
		outer[100] ^= 1 // behind the header, in the archive
		folder["all.zip"] = string(outer)
		_, _, err := kkbox.ReadFS(memory(folder), unpacking)
		if err == nil || !strings.Contains(err.Error(), "all.zip: songs.csv.7z: the archive is damaged or cut off, get it again: ") {
			t.Errorf("method %d: got %v", method, err)
		}
	}
}

// A disk without room for the archive of a zip file is no fault of the archive.
func TestReadWithoutTemporaryFolder(t *testing.T) {
	folder := map[string]string{"all.zip": zipped(t, archives(t), zip.Store)}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	_, _, err := kkbox.ReadFS(memory(folder), unpacking)
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
}

// counted counts the files of a folder that are open.
type counted struct {
	fs.FS
	open *atomic.Int64
}

type countedFile struct {
	fs.File
	io.ReaderAt
	open *atomic.Int64
}

func (c counted) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return f, err // fs.ReadDir closes it
	}
	c.open.Add(1)
	return countedFile{f, f.(io.ReaderAt), c.open}, nil
}

func (f countedFile) Close() error {
	f.open.Add(-1)
	return f.File.Close()
}

// Whatever comes of it, all files are closed in the end, and the temporary ones
// are gone.
func TestReadCloses(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	whole := pack(t, "songs.csv.7z")
	both := func(archive string) map[string]string { return with("songs.csv.7z", archive) }
	folders := map[string]map[string]string{
		"zip":     {"all.zip": zipped(t, archives(t), zip.Deflate)},
		"whole":   both(whole),
		"cut off": both(whole[:len(whole)/2]), "no archive": both("nothing"), "another": both(pack(t, "train.csv.7z")),
		"damaged in a zip": with("all.zip", zipped(t, map[string]string{"songs.csv.7z": "nothing"}, zip.Deflate)),
	}
	for name, folder := range folders {
		if name != "zip" {
			delete(folder, "songs.csv")
		}
		for _, opt := range []kkbox.ReadOptions{unpacking, {}} {
			var open atomic.Int64
			_, _, err := kkbox.ReadFS(counted{memory(folder), &open}, opt)
			if got := open.Load(); got != 0 {
				t.Errorf("%s, %v: %d files are open", name, err, got)
			}
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
