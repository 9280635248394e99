package sevenzip_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox/sevenzip"
)

// An archive is read, or is an error: it never panics.
func FuzzUnpack(f *testing.F) {
	names, err := filepath.Glob("../testdata/small/*.7z")
	if err != nil || len(names) != 4 {
		f.Fatalf("archives %q, %v", names, err)
	}
	for _, name := range names {
		archive, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive)
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		text, err := sevenzip.Unpacker{}.Unpack(archive, "train.csv")
		if err != nil {
			return
		}
		defer text.Close()
		io.Copy(io.Discard, io.LimitReader(text, 1<<20))
	})
}
