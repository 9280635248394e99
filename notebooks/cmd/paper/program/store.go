package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/contextrec/contextrec/envs/sim"
)

func (p *program) store() (sim.Store, error) {
	dir, err := p.Folder("results")
	return sim.Store{Dir: dir}, err
}

// filledStore is the store of a command that only reads. A folder that was asked
// for has to be there; the usual one need not.
func (p *program) filledStore() (sim.Store, error) {
	store, err := p.store()
	if err != nil || p.Out == "" {
		return store, err
	}
	folder, err := p.Folder()
	if err != nil {
		return store, err
	}
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return store, fmt.Errorf("there is no folder %s, where -out says that results are", folder)
	case err != nil:
		return store, fmt.Errorf("-out: %w", err)
	case !info.IsDir():
		return store, fmt.Errorf("%s is no folder, and -out says that results are in it", folder)
	}
	return store, nil
}
