package ondevice

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs/sim"
)

// checkpoint is what a match under way cannot be told without: everything else
// comes again from the seeds. A file is the line magic, the SHA-256 sum of the
// rest, and it as gob.
type checkpoint struct {
	Of       description
	Played   int           // steps
	Slots    []uint8       // [R, Played], what was chosen
	Networks [][][]float32 // parameters and moments of the script's networks
}

// description says what a checkpoint is of. One of anything else is not used, so
// that a match ends as if it had not been interrupted.
type description struct {
	Problem, Algorithm string
	Seeds              string
	Steps, Piece       int
	Backend            string
	Program            string // sum of the executable
}

const magic = "contextrec match on a device 1\n"

// keeper keeps a game in the match's folder.
type keeper struct {
	path  string // empty: it does not
	of    description
	every time.Duration
	tell  func(string)
	last  time.Time // when it was kept
	stuck bool      // it could not be kept, which has been told
}

func newKeeper(p Player, m sim.Match, backend compute.Backend, piece int) *keeper {
	k := &keeper{every: p.Every, tell: p.Tell, last: time.Now()}
	if k.every == 0 {
		k.every = time.Minute
	}
	if k.tell == nil {
		k.tell = func(string) {}
	}
	if m.Folder == "" || k.every < 0 {
		return k
	}
	seeds := sha256.New()
	binary.Write(seeds, binary.LittleEndian, m.ProblemSeeds) // to a hash, which takes everything
	binary.Write(seeds, binary.LittleEndian, m.PolicySeeds)
	k.of = description{
		Seeds: fmt.Sprintf("%x", seeds.Sum(nil)), Steps: m.Steps, Piece: piece,
		Backend: fmt.Sprintf("%s, %s, %s", backend.Name(), backend.Description(), p.Backend),
	}
	var errs [3]error
	k.of.Problem, errs[0] = declaration(m.Problem)
	k.of.Algorithm, errs[1] = declaration(m.Algorithm)
	k.of.Program, errs[2] = programSum()
	if err := errors.Join(errs[:]...); err != nil {
		k.tell(fmt.Sprintf("a match under way cannot be kept: saying what it is: %v", err))
		return k
	}
	k.path = filepath.Join(m.Folder, "device-"+k.of.Seeds[:16]+".checkpoint")
	return k
}

func declaration(x any) (string, error) {
	text, err := json.Marshal(x)
	return fmt.Sprintf("%T %s", x, text), err
}

// programSum is the sum of the program that runs. Tests set it.
var programSum = sync.OnceValues(func() (string, error) {
	path, err := "/proc/self/exe", error(nil)
	if runtime.GOOS != "linux" { // there it is what runs, even if its file has been replaced since
		path, err = os.Executable()
	}
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return fmt.Sprintf("%x", sum.Sum(nil)), err
})

// load returns what was kept, or nil. What cannot be used is told.
func (k *keeper) load(t *table) *checkpoint {
	if k.path == "" {
		return nil
	}
	c, err := read(k.path)
	if err == nil {
		err = k.check(c, t)
	}
	switch {
	case err == nil:
		k.tell(fmt.Sprintf("going on after step %d of %d, from %s", c.Played, t.match.Steps, k.path))
		return c
	case !errors.Is(err, fs.ErrNotExist):
		k.tell(fmt.Sprintf("beginning anew: %s is not used: %v", k.path, err))
	}
	return nil
}

func read(path string) (*checkpoint, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is no file, but %v", info.Mode().Type())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutPrefix(text, []byte(magic))
	if !ok {
		return nil, errors.New("it is no checkpoint, or one of another version")
	}
	if len(body) < sha256.Size || sha256.Sum256(body[sha256.Size:]) != [sha256.Size]byte(body) {
		return nil, errors.New("it is damaged")
	}
	c := new(checkpoint)
	if err := gob.NewDecoder(bytes.NewReader(body[sha256.Size:])).Decode(c); err != nil {
		return nil, err
	}
	return c, nil
}

// check returns an error that says how a checkpoint is not one of the match.
func (k *keeper) check(c *checkpoint, t *table) error {
	have, want := reflect.ValueOf(c.Of), reflect.ValueOf(k.of)
	for i := range have.NumField() {
		if !have.Field(i).Equal(want.Field(i)) {
			return fmt.Errorf("it is of another %s", have.Type().Field(i).Name)
		}
	}
	if c.Played < 1 || c.Played >= t.steps || c.Played%k.of.Piece != 0 || len(c.Slots) != t.runs()*c.Played || len(c.Networks) != len(t.script.Parameters()) {
		return fmt.Errorf("it is of %d steps, %d choices and %d networks", c.Played, len(c.Slots), len(c.Networks))
	}
	for i, slot := range c.Slots {
		if int(slot) >= t.spec.Candidates {
			return fmt.Errorf("choice %d is slot %d of %d", i, slot, t.spec.Candidates)
		}
	}
	for i, p := range t.script.Parameters() {
		if err := fits(c.Networks[i], p.Network.Shapes(t.runs())); err != nil {
			return fmt.Errorf("network %d: %w", i, err)
		}
	}
	return nil
}

// fits returns an error that says how parameters and moments are not of those
// shapes.
func fits(values [][]float32, dims [][]int) error {
	if len(values) != 3*len(dims) {
		return fmt.Errorf("%d parameters and moments, want %d", len(values), 3*len(dims))
	}
	for i, v := range values {
		size := 1
		for _, n := range dims[i%len(dims)] {
			size *= n
		}
		if len(v) != size {
			return fmt.Errorf("parameter or moment %d has %d values, want %d", i, len(v), size)
		}
	}
	return nil
}

// due tells whether it is time to keep the game.
func (k *keeper) due() bool { return k.path != "" && time.Since(k.last) >= k.every }

// keep writes a checkpoint. That it could not is told once; the game goes on.
func (k *keeper) keep(t *table, played int) {
	c, err := k.checkpoint(t, played)
	if err == nil {
		err = c.write(k.path)
	}
	k.last = time.Now()
	if err != nil && !k.stuck {
		k.stuck = true
		k.tell(fmt.Sprintf("a match under way cannot be kept: %v", err))
	}
}

func (k *keeper) checkpoint(t *table, played int) (*checkpoint, error) {
	c := &checkpoint{Of: k.of, Played: played, Slots: make([]uint8, 0, t.runs()*played)}
	for r := range t.runs() {
		c.Slots = append(c.Slots, t.slots[r*t.steps:r*t.steps+played]...)
	}
	for _, p := range t.script.Parameters() {
		values, err := p.State()
		if err != nil {
			return nil, err
		}
		c.Networks = append(c.Networks, values)
	}
	return c, nil
}

// write writes a checkpoint, of which nobody ever sees half under its name.
func (c *checkpoint) write(path string) error {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(c); err != nil {
		return err
	}
	sum := sha256.Sum256(body.Bytes())
	// A name of its own, for another process may play the same match.
	file, err := os.OpenFile(path+"."+rand.Text()+".tmp", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{[]byte(magic), sum[:], body.Bytes()} {
		if err == nil {
			_, err = file.Write(part)
		}
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}

// resume makes the game again that was kept, on the device.
type resume struct {
	*checkpoint
	hist []float32 // [R, T, 2 or 4]
}

func (g *game) resume(c *checkpoint) (*resume, error) {
	for i, p := range g.script.Parameters() {
		if err := p.Restore(c.Networks[i]); err != nil {
			return nil, err
		}
	}
	return &resume{c, make([]float32, g.runs()*g.steps*g.shape.hist)}, nil
}

// replay makes a piece of the history that was played before, and returns the
// slots that were chosen, [R, K].
func (g *game) replay(l *loaded, c *resume) ([]float32, error) {
	if _, err := g.call(l, 0); err != nil {
		return nil, err
	}
	m, n := g.spec.Candidates, g.shape.hist // every slot is below m, keeper.check has seen to it
	slots := make([]float32, g.runs()*l.steps)
	for r := range g.runs() {
		for k := range l.steps {
			at := r*l.steps + k
			slot := c.Slots[r*c.Played+l.first+k]
			slots[at] = float32(slot)
			candidate := int(l.order[at*m+int(slot)])
			hist := c.hist[(r*g.steps+l.first+k)*n:][:n]
			hist[0], hist[1] = float32(slot), l.rewards[at*m+candidate]
			if g.stateful() {
				item := l.items[at*m+candidate]
				hist[2], hist[3] = g.catalogue.table.Feedback(item), float32(g.catalogue.rows[item])
			}
		}
	}
	if l.first+l.steps < c.Played {
		return slots, nil
	}
	// That was the last one.
	if err := g.hist.FinalizeAll(); err != nil {
		return nil, err
	}
	g.hist = tensors.FromFlatDataAndDimensions(c.hist, g.runs(), g.steps, n)
	return slots, g.hist.MaterializeOnDevice(g.backend, false, 0)
}
