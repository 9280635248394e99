package kkbox

import "errors"

// load reads the data of a source.
func (o *opened) load(s Source, progress Progress) error {
	return errors.New("kkbox: the reader is not there yet")
}
