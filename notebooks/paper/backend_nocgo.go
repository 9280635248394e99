//go:build xla && !cgo

package paper

// The compiler shows this name, which nothing declares.
const defaultBackend = the_tag_xla_needs_cgo_and_a_C_compiler
