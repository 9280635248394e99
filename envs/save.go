package envs

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Saver is implemented by policies that can be kept in a file. All policies of
// this module are Savers.
type Saver interface {
	// Save writes all that matters to the choices to come, random streams
	// included.
	Save(w io.Writer) error
	// Load makes the policy what the saved one was: the next choices are the same.
	// The policy was made by the same declaration, for the same spec and number of
	// runs; its seeds do not matter. Another declaration and a damaged file are
	// errors, which leave the policy as it was.
	Load(r io.Reader) error
}

const stateMagic = "contextrec policy 2\n"

// WriteState writes the state of a policy for its Save: a line of text, a
// SHA-256 sum, and as gob what made the policy and a struct with exported fields.
func WriteState(w io.Writer, declaration Algorithm, spec Spec, runs int, state any) error {
	header, err := stateHeader(declaration, spec, runs)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	encoder := gob.NewEncoder(&body)
	if err := errors.Join(encoder.Encode(header), encoder.Encode(state)); err != nil {
		return fmt.Errorf("envs: saving a policy: %w", err)
	}
	sum := sha256.Sum256(body.Bytes())
	for _, part := range [][]byte{[]byte(stateMagic), sum[:], body.Bytes()} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("envs: saving a policy: %w", err)
		}
	}
	return nil
}

// ReadState reads what WriteState wrote into state, a pointer to a struct of the
// same type, for a policy's Load. It is an error when the file is no saved
// policy, is damaged, or was made by another declaration.
func ReadState(r io.Reader, declaration Algorithm, spec Spec, runs int, state any) error {
	want, err := stateHeader(declaration, spec, runs)
	if err != nil {
		return err
	}
	file, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("envs: loading a policy: %w", err)
	}
	body, ok := bytes.CutPrefix(file, []byte(stateMagic))
	if !ok {
		return errors.New("envs: not a saved policy of this version")
	}
	if len(body) < sha256.Size || sha256.Sum256(body[sha256.Size:]) != [sha256.Size]byte(body) {
		return errors.New("envs: the saved policy is damaged")
	}
	decoder := gob.NewDecoder(bytes.NewReader(body[sha256.Size:]))
	var header string
	if err := decoder.Decode(&header); err != nil {
		return fmt.Errorf("envs: loading a policy: %w", err)
	}
	if header != want {
		return fmt.Errorf("envs: the saved policy is %s, not %s", header, want)
	}
	if err := decoder.Decode(state); err != nil {
		return fmt.Errorf("envs: loading a policy: %w", err)
	}
	return nil
}

func stateHeader(declaration Algorithm, spec Spec, runs int) (string, error) {
	settings, err := json.Marshal(declaration)
	if err != nil {
		return "", fmt.Errorf("envs: settings of a policy: %w", err)
	}
	return fmt.Sprintf("%T %s of %d runs with %d candidates, %d features, %d of state",
		declaration, settings, runs, spec.Candidates, spec.Dim, spec.State), nil
}
