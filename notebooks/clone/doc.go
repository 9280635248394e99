// Package clone builds the programs of a clone of this repository, where they
// are not up to date: the command line, and the kernel that the notebooks are
// executed with. It imports nothing that takes long to compile.
package clone
