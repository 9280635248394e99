// Package cli is what the launcher and the program of the command line have in
// common: their commands and flags, how they speak of errors and end, and the
// commands that open the notebooks. It imports nothing that takes long to compile.
package cli
