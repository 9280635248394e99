package envs

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Saver is implemented by policies that can be kept in a file.
type Saver interface {
	// Save writes all that matters to the choices to come, random streams included.
	Save(w io.Writer) error
	// Load makes the policy what the saved one was: the next choices are the same.
	// Another declaration, spec or number of runs and a damaged file are errors,
	// which leave the policy as it was; other seeds are none.
	Load(r io.Reader) error
}

const stateMagic = "contextrec policy 3\n"

// WriteState writes the state of a policy for its Save: a line of text, a
// SHA-256 sum, and as gob what made the policy and a struct with exported fields.
func WriteState(w io.Writer, declaration Algorithm, spec Spec, runs int, state any) error {
	var body bytes.Buffer
	encoder := gob.NewEncoder(&body)
	header, err := stateHeader(declaration, spec, runs)
	if err = errors.Join(err, encoder.Encode(header), encoder.Encode(state)); err == nil {
		sum := sha256.Sum256(body.Bytes())
		_, err = w.Write(slices.Concat([]byte(stateMagic), sum[:], body.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("envs: saving a policy: %w", err)
	}
	return nil
}

// ReadState reads what WriteState wrote into state, a pointer to an empty struct
// of the same type, for a policy's Load. It is an error when the file is no saved
// policy, is damaged, or was made by another declaration.
func ReadState(r io.Reader, declaration Algorithm, spec Spec, runs int, state any) error {
	header, decoder, err := openState(r)
	want, err2 := stateHeader(declaration, spec, runs)
	if err = errors.Join(err, err2); err == nil && header != want {
		err = fmt.Errorf("the file has %s, want %s", header, want)
	}
	if err == nil {
		err = decoder.Decode(state)
	}
	if err != nil {
		return fmt.Errorf("envs: loading a policy: %w", err)
	}
	return nil
}

// SavedAs says what made the policy in a file: its declaration as type and JSON, runs and shape.
func SavedAs(r io.Reader) (string, error) {
	header, _, err := openState(r)
	return header, err
}

func openState(r io.Reader) (header string, decoder *gob.Decoder, err error) {
	file, err := io.ReadAll(r)
	if err != nil {
		return "", nil, err
	}
	body, ok := bytes.CutPrefix(file, []byte(stateMagic))
	if !ok {
		return "", nil, errors.New("the file is no saved policy of this version")
	}
	if len(body) < sha256.Size || sha256.Sum256(body[sha256.Size:]) != [sha256.Size]byte(body) {
		return "", nil, errors.New("the file is damaged")
	}
	decoder = gob.NewDecoder(bytes.NewReader(body[sha256.Size:]))
	return header, decoder, decoder.Decode(&header)
}

func stateHeader(declaration Algorithm, spec Spec, runs int) (string, error) {
	settings, err := json.Marshal(declaration)
	return fmt.Sprintf("%T %s of %d runs with %d candidates, %d features, %d of state",
		declaration, settings, runs, spec.Candidates, spec.Dim, spec.State), err
}
