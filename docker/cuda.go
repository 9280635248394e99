//go:build ignore

// Cuda installs XLA's plugin for NVIDIA GPUs, and the libraries that it needs,
// into a folder: go run docker/cuda.go FOLDER. They come from the Python Package
// Index and are more than a gigabyte. The programs that are built with the tag
// xla find them in /usr/local/lib/go-xla.
package main

import (
	"fmt"
	"os"

	"github.com/gomlx/go-xla/installer"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run docker/cuda.go FOLDER")
		os.Exit(2)
	}
	if err := installer.CudaInstall("cuda13", "latest", os.Args[1], false, installer.Normal); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
