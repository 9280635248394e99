package ondevice_test

import (
	"math"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// Any length of a piece plays the same match: none and a negative one are the
// default, and one that is longer than the match is the match.
func TestPiece(t *testing.T) {
	a := pgcr.Config{ActorRate: 1e-4, UpdateEvery: 3}
	want := play(t, ondevice.Player{Piece: 13}.Play, envs.Linear{}, a, 2, 40)
	for _, piece := range []int{math.MinInt, -1, 0, 1, 42, math.MaxInt} {
		compare(t, play(t, ondevice.Player{Piece: piece}.Play, envs.Linear{}, a, 2, 40), want)
	}
}
