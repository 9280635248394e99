// Package kkbox has the music experiments of the paper (section 6.1): a reader of the files of the
// KKBox Music Recommendation Challenge, synthetic data for all who do not have them, the 94
// features of a song, and the two simulators, [MusicStateless] and [MusicState].
//
// The simulators play on a [Source], a folder of real files or the settings of synthetic data:
//
//	problem := kkbox.MusicState{Source: kkbox.Source{Folder: "kkbox", Unpacker: sevenzip.Unpacker{}}}
//	env, err := problem.New(seeds)
package kkbox

// Dataset is what the simulators and the features use of the data: who heard what, in the order of
// time, whether they listened again, and the songs. The length of every column is the number of
// rows. Nothing changes a Dataset once it is made.
type Dataset struct {
	Users []string // msno, in the order of their first row
	Songs []Song   // of train.csv in the order of their first row, then those of test.csv alone

	// The rows of train.csv, in its order, which is that of time.
	User   []int32 // index in Users
	Song   []int32 // index in Songs
	Target []uint8 // 1 if the user listened again within a month, else 0
	Type   []uint8 // index in Types: source_type, how the user came upon the song

	Types []string // the first is "", which stands for a missing one

	// Probability is the true probability of each row's target, where the data
	// is synthetic; nil for real data.
	Probability []float32

	// Notes are what was found in the files, a sentence each: how many rows there
	// are, and what is odd or differs from the data of the challenge.
	Notes []string
}

// Song is a row of songs.csv joined with one of song_extra_info.csv.
type Song struct {
	ID string // song_id

	Listed   bool  // whether songs.csv has it; the fields down to Language are zero if not
	Length   int32 // song_length in milliseconds, 0 if unknown
	Genres   string
	Artist   string
	Composer string
	Lyricist string
	Language int16 // code, 0 if missing

	Name string // of song_extra_info.csv, "" if missing
	ISRC string // likewise

	Rows          int32 // rows of train.csv and test.csv with the song
	ArtistSongs   int32 // songs of the same artist_name in songs.csv
	ComposerSongs int32 // songs of the same first composer in songs.csv, 0 if it has no composer
}
