// Package kernel executes notebooks without a browser, without Jupyter and
// without Python: it starts the GoNB kernel, which compiles and runs each cell
// as a Go program, and talks to it by the Jupyter wire protocol
// (https://jupyter-client.readthedocs.io/en/stable/messaging.html).
//
// [Run] is stricter than Jupyter about what is an error. A front end shows a
// shell line that fails, or a command that GoNB does not know, as text among
// other text; here both fail the cell, as a program that does not compile does.
//
// What is stored does not depend on timing, so that the same notebook gives
// the same file: what a cell writes to stdout is one output, what it writes to
// stderr the next, and rich outputs (pictures, tables) follow in their order.
// GoNB carries text and rich outputs on different pipes, so their order among
// each other is chance even in a browser. A carriage return overwrites the
// line, and an output that was updated (a progress bar) is stored in its last
// state, or not at all when that is empty.
//
// The module pins the kernel and the goimports program that it needs, as tools:
//
//	GOBIN=$PWD/notebooks/.bin go -C notebooks/kernel install tool ./cellgo ./nbrun
package kernel
