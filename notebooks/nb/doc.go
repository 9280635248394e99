// Package nb is what the notebooks of this repository use to show things: plots
// as PNG, tables, text, a progress bar, and errors that fail the cell.
//
// It is the only package that knows of GoNB. Outside a notebook the same calls
// print plain text to stdout, and the bar draws on stderr where that is a
// terminal, so that a cell can be tried as an ordinary program.
//
// Three habits of GoNB shape it. Rich output that is still under way when a
// cell's program ends is lost, so everything here waits until the kernel has
// what it was sent. A send that fails does not fail the cell, so here it ends
// the program with status 1. And text printed to stdout travels by another pipe
// than pictures, so a cell shows text among pictures by [Text] or [Markdown],
// not by fmt.
//
// A cell is a program of its own that ends after it, and so some functions end
// the program: [Must], [Check] and all that show something.
package nb
