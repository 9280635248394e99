package kkbox

import "fmt"

// MusicTable is the envs.Table of the music problems: codes are rows of
// train.csv, counted from 0. So a code stands for the song and for what the user
// made of it.
type MusicTable struct {
	data     *Dataset
	fields   *Fields
	state    int // songs of a state
	identity string
}

// Identity implements envs.Table: it names the data, the variant of the fields,
// and the songs of a state.
func (t *MusicTable) Identity() string { return t.identity }

// Expand implements envs.Table. It panics when dst or state has another length
// and when a code is no row.
func (t *MusicTable) Expand(dst []float32, state []int32, item int32) {
	if len(state) != t.state || len(dst) != t.stateDim()+NumFields {
		panic(fmt.Sprintf("kkbox: %d state codes and a destination of %d features, want %d and %d",
			len(state), len(dst), t.state, t.stateDim()+NumFields))
	}
	t.expandState(dst[:t.stateDim()], state)
	t.fields.Row(dst[t.stateDim():], int(item))
}

// stateDim is the length of a state.
func (t *MusicTable) stateDim() int { return t.state * (NumFields + 1) }

// expandState writes a state to dst.
func (t *MusicTable) expandState(dst []float32, state []int32) {
	for i, row := range state {
		song := dst[i*(NumFields+1) : (i+1)*(NumFields+1)]
		if row < 0 {
			if row != noRow {
				panic(fmt.Sprintf("kkbox: state code %d is no row", row))
			}
			clear(song)
			continue
		}
		t.fields.Row(song[:NumFields], int(row))
		song[NumFields] = t.Feedback(row)
	}
}

// Feedback is what a state says of a row: +1 if the user listened again, else
// -1.
func (t *MusicTable) Feedback(row int32) float32 { return 2*float32(t.data.Target[row]) - 1 }

// Gather tells a loop on a device, which makes contexts itself, what they are
// made of: the song of every row, [rows], and the features of every song,
// [songs, NumFields]. Expand's context is, for each state code, the features of
// its song and the Feedback, and then the features of the item's song. The
// caller must not change the slices. ok is false with Variant.SourceFields,
// where features are not those of songs alone.
func (t *MusicTable) Gather() (songs []int32, features []float32, ok bool) {
	return t.data.Song, t.fields.Values, !t.fields.Variant.SourceFields
}
