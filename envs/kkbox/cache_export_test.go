package kkbox

import "encoding/binary"

// DecodeCache decodes a cache of the same files as another, a good one.
func DecodeCache(cache []byte, good string) (*Dataset, bool) {
	length := binary.LittleEndian.Uint64([]byte(good[cacheHead:]))
	data, _, ok := decodeCache(cache, good[cacheHead+8:cacheHead+8+int(length)])
	return data, ok
}

// DecodesCache reports whether DecodeCache decodes it.
func DecodesCache(cache []byte, good string) bool {
	_, ok := DecodeCache(cache, good)
	return ok
}
