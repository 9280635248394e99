package kkbox

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"fmt"
	"os"
	"path/filepath"

	"github.com/contextrec/contextrec/envs/sim"
)

// cacheFile is what Read leaves in the folder of the data. It may be removed at any time.
const cacheFile = "contextrec.cache"

// cacheKey differs where a file has another form, size or modification time, and
// with the version of the reader.
func cacheKey(sources []*source) string {
	key := "contextrec kkbox 4\n"
	for _, s := range sources {
		if s != nil {
			key += fmt.Sprintf("%q %d %d\n", s.path, s.info.Size(), s.info.ModTime().UnixNano())
		}
	}
	return key
}

// loadCache returns nil where there is no whole cache of these files.
func loadCache(folder, key string) *Dataset {
	f, err := os.Open(filepath.Join(folder, cacheFile))
	if err != nil {
		return nil
	}
	defer f.Close()
	decoder := gob.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	found, data := "", &Dataset{}
	if decoder.Decode(&found) != nil || found != key || decoder.Decode(data) != nil {
		return nil
	}
	return data
}

// keepCache writes the cache in one go: no program reads half of one.
func keepCache(folder, key string, data *Dataset) error {
	var b bytes.Buffer
	encoder := gob.NewEncoder(&b) // which takes both, and all that is written
	encoder.Encode(key)
	encoder.Encode(data)
	return sim.WriteFile(filepath.Join(folder, cacheFile), b.Bytes())
}
