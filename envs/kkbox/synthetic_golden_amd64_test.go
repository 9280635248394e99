package kkbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox"
)

// The twin's bytes stand behind the version that results name it by: where they
// change, twinVersion must. Other processors may round the law's terms in
// another way.
func TestTwinVersion(t *testing.T) {
	files, err := kkbox.Synthetic{Users: 40, Seed: 1}.Files()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, name := range []string{"train.csv", "test.csv", "songs.csv", "song_extra_info.csv", "members.csv", "truth.csv"} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	declared, err := json.Marshal(kkbox.Source{Users: 40})
	if err != nil {
		t.Fatal(err)
	}
	const version, want = `"Version":1`, "5716e2a4f71e914a"
	if got := hex.EncodeToString(sum.Sum(nil))[:16]; got != want || !strings.Contains(string(declared), version) {
		t.Errorf("the files of %s have the sum %s, want %s and %s: raise twinVersion when they change", declared, got, version, want)
	}
}
