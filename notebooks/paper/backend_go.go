//go:build !xla

package paper

const defaultBackend = "go:ops_sequential,parallelism=0"
