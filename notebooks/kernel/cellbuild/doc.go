// Package cellbuild builds a notebook's cell without what the go command does
// before the compiler and after the linker: it loads some 300 packages and looks
// whether each of them is up to date, for each cell again, a quarter of a second.
//
// A cell is a program of one file, main.go, in a kernel's folder with a go.mod and a
// go.work. When go has built one, [Go.Build] keeps its recipe: the commands that go
// ran for the file and the program, and where the compiled packages are. A later
// cell is compiled and linked by the same two commands, if all that go would look at
// is as it was:
//
//   - the cell imports nothing that the recipe's did not;
//   - the flags, the environment and settings of go, the go command itself, go.mod but
//     for the module's name, go.sum, go.work, and the go.mod and go.sum of its modules
//     are the same (these make the key of a recipe);
//   - the source files are the same, in the folders of the packages that are neither
//     Go's own nor in the module cache, which are taken for what they were.
//
// Where anything differs, or is of a kind that is not looked at here (other flags than
// a few, a main.go with compiler directives or in part in C, embedded files, several
// modules that a package may be of, a folder in a repository), or when a command fails
// or has something to say, go builds the cell, and says it. So a cell is what go would
// have made, to the byte, but for two things: its build ID is none of go's, so that go
// does not take it for up to date, and its list of modules is that of the recipe, which
// may have more of them. The go.work.sum beside go.work, which holds checksums of what
// was downloaded before, is not looked at.
package cellbuild
