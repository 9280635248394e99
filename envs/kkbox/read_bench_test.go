package kkbox_test

import (
	"os"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox"
)

// BenchmarkRead reads the files of 300 synthetic users, a hundredth of the real
// ones; MB/s are those of the files, also where they come from the cache.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	if err := (kkbox.Synthetic{Users: 300}).Write(b.Context(), dir, nil); err != nil {
		b.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	size := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			b.Fatal(err)
		}
		size += info.Size()
	}
	for name, opt := range map[string]kkbox.ReadOptions{"Files": {NoCache: true}, "Cache": {}} {
		b.Run(name, func(b *testing.B) {
			if _, _, err := kkbox.Read(dir, opt); err != nil { // which leaves the cache
				b.Fatal(err)
			}
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				_, report, err := kkbox.Read(dir, opt)
				if err != nil || report.Cached == opt.NoCache {
					b.Fatalf("from the cache: %v, error %v", report.Cached, err)
				}
			}
		})
	}
}
