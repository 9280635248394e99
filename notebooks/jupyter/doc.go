// Package jupyter opens the notebooks of this repository in Jupyter: it finds
// the front end that is installed, tells it of the Go kernel, and runs it until
// it is stopped.
//
// [Serve] keeps what it needs to itself: the kernel is declared in a folder
// that is removed at the end, so that nothing is installed, and several servers
// of several clones do not meet. [Kernel.Install] declares the kernel for the
// user instead, for editors and for servers that are started in another way.
package jupyter
