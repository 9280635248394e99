package kkbox

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unicode/utf16"

	"github.com/ulikunitz/xz/lzma"
)

// What follows reads 7z archives as far as it takes to unpack a table: one file
// or more that are packed by one method each. The format is that of 7zFormat.txt
// in the LZMA SDK (https://www.7-zip.org/sdk.html).

// file7z is a file in an archive.
type file7z struct {
	name   string
	isDir  bool
	size   uint64
	sum    uint32    // CRC-32; 0 where there is none
	stream *stream7z // nil where the file is empty
	skip   uint64    // what is before the file in its stream
}

// stream7z is a packed stream, a "folder" of the format: files one after another.
type stream7z struct {
	methods [][]byte // of its coders
	props   []byte   // of the first one
	inputs  int      // packed streams that it is made of

	packed *io.SectionReader
	size   uint64 // unpacked
	sum    uint32 // CRC-32; 0 where there is none
	files  int
}

// The marks of an archive's header.
const (
	mark7zEnd, mark7zHeader                  = 0x00, 0x01
	mark7zMainStreams, mark7zFiles           = 0x04, 0x05
	mark7zPackInfo, mark7zUnpackInfo         = 0x06, 0x07
	mark7zSubstreams, mark7zSize, mark7zSums = 0x08, 0x09, 0x0a
	mark7zFolder, mark7zUnpackSize           = 0x0b, 0x0c
	mark7zFilesOfStream                      = 0x0d
	mark7zEmptyStream, mark7zEmptyFile       = 0x0e, 0x0f
	mark7zNames, mark7zEncodedHeader         = 0x11, 0x17
)

const (
	signature7z = "7z\xbc\xaf\x27\x1c"
	start7z     = 32      // bytes before the packed streams
	header7zMax = 1 << 28 // bytes of a header that is unpacked: more than a million names
)

// files7z are the files of an archive of so many bytes.
func files7z(r io.ReaderAt, size int64) ([]*file7z, error) {
	var start [start7z]byte
	if _, err := r.ReadAt(start[:], 0); err != nil && err != io.EOF {
		return nil, err
	}
	le := binary.LittleEndian
	switch {
	case string(start[:6]) != signature7z:
		return nil, errors.New("it does not begin as a 7z archive does")
	case crc32.ChecksumIEEE(start[12:]) != le.Uint32(start[8:]):
		return nil, errors.New("the checksum of its beginning differs")
	}
	offset, length := le.Uint64(start[12:]), le.Uint64(start[20:])
	room := uint64(max(size-start7z, 0))
	if offset > room || length > room-offset {
		return nil, io.ErrUnexpectedEOF
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(r, start7z+int64(offset), int64(length)), header); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(header) != le.Uint32(start[28:]) {
		return nil, errors.New("the checksum of its header differs")
	}
	streams := io.NewSectionReader(r, start7z, int64(offset)) // in front of the header
	if len(header) > 0 && header[0] == mark7zEncodedHeader {
		var err error
		if header, err = unpackHeader(header[1:], streams); err != nil {
			return nil, err
		}
	}
	p := parser7z{left: header}
	files := p.header(streams)
	return files, p.err
}

// unpackHeader unpacks a header that is a packed stream itself. A header that is
// packed twice, which no program writes, is none to who reads it next.
func unpackHeader(text []byte, streams *io.SectionReader) ([]byte, error) {
	p := parser7z{left: text}
	packed, _ := p.streams(streams)
	if p.err != nil {
		return nil, p.err
	}
	if len(packed) != 1 || packed[0].size > header7zMax {
		return nil, errors.New("its packed header is none")
	}
	r, err := packed[0].open()
	if err != nil {
		return nil, err
	}
	header := make([]byte, packed[0].size)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, err
	}
	if sum := packed[0].sum; sum != 0 && sum != crc32.ChecksumIEEE(header) {
		return nil, errors.New("the checksum of its packed header differs")
	}
	return header, nil
}

// parser7z reads a header. After an error it reads zeros.
type parser7z struct {
	left []byte
	err  error
}

func (p *parser7z) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.left = nil
}

func (p *parser7z) bytes(n uint64) []byte {
	if n > uint64(len(p.left)) {
		p.fail(io.ErrUnexpectedEOF)
		return nil
	}
	b := p.left[:n]
	p.left = p.left[n:]
	return b
}

func (p *parser7z) byte() byte {
	if b := p.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// number reads a number of 1 to 9 bytes: as many ones as the first byte begins
// with, so many bytes follow, the least first; the first has the highest bits.
func (p *parser7z) number() uint64 {
	first, n := p.byte(), uint64(0)
	for i, mask := uint(0), byte(0x80); i < 8; i, mask = i+1, mask>>1 {
		if first&mask == 0 {
			return n | uint64(first&(mask-1))<<(8*i)
		}
		n |= uint64(p.byte()) << (8 * i)
	}
	return n
}

// count reads a number of things that take some of the header each.
func (p *parser7z) count() int {
	n := p.number()
	if n > uint64(len(p.left)) {
		p.fail(io.ErrUnexpectedEOF)
		return 0
	}
	return int(n)
}

// expect reads a mark that has to be there.
func (p *parser7z) expect(mark byte) {
	if got := p.byte(); got != mark && p.err == nil {
		p.fail(fmt.Errorf("its header has %#x for %#x", got, mark))
	}
}

// bits reads n bits, the highest of each byte first.
func (p *parser7z) bits(n int) []bool {
	packed, set := p.bytes(uint64(n+7)/8), make([]bool, n)
	for i := range set {
		set[i] = packed != nil && packed[i/8]&(0x80>>(i%8)) != 0
	}
	return set
}

// sums reads n checksums, 0 where one is not known.
func (p *parser7z) sums(n int) []uint32 {
	known, sums := make([]bool, n), make([]uint32, n)
	if p.byte() != 0 {
		for i := range known {
			known[i] = true
		}
	} else {
		known = p.bits(n)
	}
	for i := range sums {
		if known[i] {
			if b := p.bytes(4); b != nil {
				sums[i] = binary.LittleEndian.Uint32(b)
			}
		}
	}
	return sums
}

// internal wants what follows to stand here and not in another stream, which no
// program writes.
func (p *parser7z) internal() {
	if p.byte() != 0 {
		p.fail(errors.New("a part of its header is elsewhere"))
	}
}

// header reads the header behind its mark, that of files.
func (p *parser7z) header(packed *io.SectionReader) []*file7z {
	if len(p.left) == 0 {
		return nil // nothing is in it
	}
	p.expect(mark7zHeader)
	var files []*file7z
	mark := p.byte()
	if mark == mark7zMainStreams {
		_, files = p.streams(packed)
		mark = p.byte()
	}
	if mark == mark7zFiles {
		files = p.files(files)
		mark = p.byte()
	}
	if mark != mark7zEnd && p.err == nil {
		p.fail(fmt.Errorf("its header has a part %#x", mark))
	}
	return files
}

// streams reads where streams are, how they are packed, and which files they
// hold, all but the names of these.
func (p *parser7z) streams(packed *io.SectionReader) (streams []*stream7z, files []*file7z) {
	var sections []*io.SectionReader
	divided := false
	for p.err == nil {
		switch mark := p.byte(); mark {
		case mark7zPackInfo:
			sections = p.packInfo(packed)
		case mark7zUnpackInfo:
			streams = p.unpackInfo(sections)
		case mark7zSubstreams:
			files, divided = p.substreams(streams), true
		case mark7zEnd:
			if !divided {
				files = whole(streams)
			}
			return streams, files
		default:
			p.fail(fmt.Errorf("its streams have a part %#x", mark))
		}
	}
	return nil, nil
}

// packInfo reads where packed streams are.
func (p *parser7z) packInfo(packed *io.SectionReader) []*io.SectionReader {
	at, n := p.number(), p.count()
	sizes := make([]uint64, n)
	for p.err == nil {
		switch mark := p.byte(); mark {
		case mark7zSize:
			for i := range sizes {
				sizes[i] = p.number()
			}
		case mark7zSums: // of what is packed; what is unpacked has its own
			p.sums(n)
		case mark7zEnd:
			sections := make([]*io.SectionReader, n)
			for i, size := range sizes {
				if room := uint64(packed.Size()); at > room || size > room-at {
					p.fail(io.ErrUnexpectedEOF)
					return nil
				}
				sections[i] = io.NewSectionReader(packed, int64(at), int64(size))
				at += size
			}
			return sections
		default:
			p.fail(fmt.Errorf("its packed streams have a part %#x", mark))
		}
	}
	return nil
}

// unpackInfo reads how streams are packed.
func (p *parser7z) unpackInfo(sections []*io.SectionReader) []*stream7z {
	p.expect(mark7zFolder)
	streams := make([]*stream7z, p.count())
	p.internal()
	outputs := make([]int, len(streams))
	for i := range streams {
		streams[i] = &stream7z{files: 1}
		outputs[i] = p.coders(streams[i])
		if n := streams[i].inputs; n > len(sections) {
			p.fail(io.ErrUnexpectedEOF)
		} else if n > 0 {
			streams[i].packed, sections = sections[0], sections[n:]
		}
		if p.err != nil {
			return nil
		}
	}
	p.expect(mark7zUnpackSize)
	for i, s := range streams {
		for range outputs[i] {
			s.size = p.number() // of one coder there is one
		}
		if s.size > math.MaxInt64 {
			p.fail(errors.New("a stream is too large"))
		}
	}
	for p.err == nil {
		switch mark := p.byte(); mark {
		case mark7zSums:
			for i, sum := range p.sums(len(streams)) {
				streams[i].sum = sum
			}
		case mark7zEnd:
			return streams
		default:
			p.fail(fmt.Errorf("its unpacked streams have a part %#x", mark))
		}
	}
	return nil
}

// coders reads the coders of a stream and returns how many sizes it has.
func (p *parser7z) coders(s *stream7z) (outputs int) {
	inputs := 0
	for i := range p.count() {
		flags := p.byte()
		s.methods = append(s.methods, p.bytes(uint64(flags&0xf)))
		in, out := 1, 1
		if flags&0x10 != 0 {
			in, out = p.count(), p.count()
		}
		if flags&0x20 != 0 {
			if props := p.bytes(uint64(p.count())); i == 0 {
				s.props = props
			}
		}
		if inputs, outputs = inputs+in, outputs+out; p.err != nil {
			return 0
		}
	}
	pairs := outputs - 1
	if pairs < 0 || inputs-pairs < 1 {
		p.fail(errors.New("a stream has nothing to be unpacked from"))
		return 0
	}
	for range pairs {
		p.number()
		p.number()
	}
	if s.inputs = inputs - pairs; s.inputs > 1 {
		for range s.inputs {
			p.number()
		}
	}
	return outputs
}

// whole is a file for each stream, which is what there is where nothing else is
// said.
func whole(streams []*stream7z) []*file7z {
	var files []*file7z
	for _, s := range streams {
		files = append(files, &file7z{size: s.size, sum: s.sum, stream: s})
	}
	return files
}

// substreams reads which files are in streams.
func (p *parser7z) substreams(streams []*stream7z) []*file7z {
	mark := p.byte()
	total := len(streams)
	if mark == mark7zFilesOfStream {
		total = 0
		for _, s := range streams {
			n := p.number()
			// Each has a name later on, of two bytes at least.
			if n > uint64(len(p.left)) || total+int(n) > len(p.left) {
				p.fail(io.ErrUnexpectedEOF)
				return nil
			}
			s.files = int(n)
			total += s.files
		}
		mark = p.byte()
	}
	files := make([]*file7z, 0, total)
	for _, s := range streams {
		at := uint64(0)
		for i := range s.files {
			size := s.size - at // the last one has what is left
			if i < s.files-1 {
				if mark != mark7zSize {
					p.fail(errors.New("files of a stream have no sizes"))
					return nil
				}
				size = p.number()
			}
			if at > s.size || size > s.size-at {
				p.fail(errors.New("files of a stream are larger than it is"))
				return nil
			}
			files = append(files, &file7z{size: size, stream: s, skip: at})
			at += size
		}
	}
	if mark == mark7zSize {
		mark = p.byte()
	}
	var unknown []*file7z // whose checksum is not that of the stream
	for _, f := range files {
		if f.stream.files == 1 && f.stream.sum != 0 {
			f.sum = f.stream.sum
		} else {
			unknown = append(unknown, f)
		}
	}
	for p.err == nil {
		switch mark {
		case mark7zSums:
			for i, sum := range p.sums(len(unknown)) {
				unknown[i].sum = sum
			}
		case mark7zEnd:
			return files
		default:
			p.fail(fmt.Errorf("its files in streams have a part %#x", mark))
		}
		mark = p.byte()
	}
	return nil
}

// files reads names: of the files in streams, and of those that are empty.
func (p *parser7z) files(inStreams []*file7z) []*file7z {
	n := p.count()
	names := make([]string, n)
	empty, emptyFile := make([]bool, n), []bool(nil)
	for p.err == nil {
		mark := p.number()
		if mark == mark7zEnd {
			break
		}
		part := parser7z{left: p.bytes(p.number())}
		switch mark {
		case mark7zEmptyStream:
			empty = part.bits(n)
		case mark7zEmptyFile:
			count := 0
			for _, e := range empty {
				if e {
					count++
				}
			}
			emptyFile = part.bits(count)
		case mark7zNames:
			part.internal()
			for i := range names {
				names[i] = part.name()
			}
		}
		if part.err != nil {
			p.fail(part.err)
		}
	}
	files := make([]*file7z, n)
	nth := 0 // of the empty ones
	for i := range files {
		if empty[i] {
			files[i] = &file7z{isDir: nth >= len(emptyFile) || !emptyFile[nth]}
			nth++
		} else if len(inStreams) > 0 {
			files[i], inStreams = inStreams[0], inStreams[1:]
		} else {
			p.fail(errors.New("a file has no stream"))
			return nil
		}
		files[i].name = names[i]
	}
	return files
}

// name reads a name, UTF-16 and a zero.
func (p *parser7z) name() string {
	var units []uint16
	for p.err == nil {
		b := p.bytes(2)
		if b == nil {
			break
		}
		u := binary.LittleEndian.Uint16(b)
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}

// errMethod is an archive that is sound and not read.
type errMethod struct{ what string }

func (e *errMethod) Error() string {
	return fmt.Sprintf("the archive is packed %s, which is not read here: unpack it with 7-Zip", e.what)
}

// open unpacks the stream from its beginning.
func (s *stream7z) open() (io.Reader, error) {
	if len(s.methods) != 1 {
		what := fmt.Sprintf("by %d methods one after the other", len(s.methods))
		for _, m := range s.methods {
			if bytes.HasPrefix(m, []byte{6, 0xf1}) {
				what = "with a password"
			}
		}
		return nil, &errMethod{what}
	}
	if s.inputs != 1 || s.packed == nil {
		return nil, errors.New("a stream has nothing to be unpacked from")
	}
	if _, err := s.packed.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	switch method := string(s.methods[0]); method {
	case "\x00": // stored
		return s.packed, nil
	case "\x03\x01\x01": // LZMA
		if len(s.props) != 5 {
			return nil, errors.New("LZMA has no settings")
		}
		header := binary.LittleEndian.AppendUint64(bytes.Clone(s.props), s.size)
		return lzma.NewReader(bufio.NewReader(io.MultiReader(bytes.NewReader(header), s.packed)))
	case "\x21": // LZMA2
		if len(s.props) != 1 || s.props[0] > 40 {
			return nil, errors.New("LZMA2 has no settings")
		}
		window := uint64(2|s.props[0]&1) << (s.props[0]/2 + 11)
		window = max(min(window, s.size, lzma.MaxDictCap), lzma.MinDictCap) // no more than there is
		return lzma.Reader2Config{DictCap: int(window)}.NewReader2(bufio.NewReader(s.packed))
	case "\x04\x01\x08":
		return flate.NewReader(bufio.NewReader(s.packed)), nil
	case "\x04\x02\x02":
		return bzip2.NewReader(bufio.NewReader(s.packed)), nil
	default:
		return nil, &errMethod{fmt.Sprintf("by method %x", method)}
	}
}

// open unpacks the file.
func (f *file7z) open() (io.Reader, error) {
	if f.stream == nil {
		return bytes.NewReader(nil), nil
	}
	text, err := f.stream.open()
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, text, int64(f.skip)); err != nil {
		return nil, err
	}
	return io.LimitReader(text, int64(f.size)), nil
}
