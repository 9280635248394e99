// Package cellbuild builds a notebook's cell without what the go command does
// before the compiler and after the linker: it loads some 300 packages and looks
// whether each of them is up to date, for each cell again, a quarter of a second.
//
// A cell is a program of one file, main.go, in a folder with a go.mod and a
// go.work. When go has built one, [Go.Build] keeps its recipe: the commands that go
// ran for the file and the program, and where the compiled packages are. A later
// cell is compiled and linked by the same two commands, if all that go would look at
// is as it was:
//
//   - the cell imports nothing that the recipe's did not;
//   - the flags, the environment of go, the go command itself, go.mod but for the
//     module's name, go.work, and the go.mod and go.sum of its modules are the same
//     (these make the key of a recipe);
//   - the source files are the same, in the folders of the packages that are neither
//     Go's own nor in the module cache.
//
// Where anything differs, or is of a kind that is not looked at here (cgo,
// compiler directives, embedded files, other flags), or when a command fails, go
// builds the cell, and says what there is to say. So a cell is what go would have
// made, to the byte, but for two things: its build ID is empty, so that go does not
// take it for up to date, and its list of modules is that of the recipe, which may
// have more of them.
package cellbuild
