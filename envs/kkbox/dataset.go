package kkbox

// Dataset is what the simulators and the features use of the data: who heard
// what, in the order of time, whether they listened again, and the songs.
//
// Nothing changes a Dataset once it is made.
type Dataset struct {
	Users []User // in the order of their first row
	Songs []Song // of train.csv in the order of their first row, then those of test.csv alone

	// The rows of train.csv, in its order, which is that of time. A pair of
	// user and song has one row.
	User   []int32 // index in Users
	Song   []int32 // index in Songs
	Target []uint8 // 1 if the user listened again within a month, else 0

	// Where the user came upon the song: indices in Tabs, Screens and Types.
	Tab, Screen, Type []uint8

	// The texts of the source fields, in the order of their first row; the
	// first of each is "", which stands for a missing one.
	Tabs, Screens, Types []string

	// Probability is the true probability of each row's target, where the data
	// is synthetic; nil for real data.
	Probability []float32

	TestRows      int // rows of test.csv, 0 where it was not there
	CatalogueSize int // rows of songs.csv
}

// User is a row of members.csv, or the zero value but for ID where there is none.
type User struct {
	ID           string // msno
	Member       bool   // whether members.csv has the user
	City         uint8
	Age          uint8 // bd; 0 where it is not within 1 to 99
	Gender       Gender
	RegisteredBy uint8 // registered_via
	Registered   int32 // day of registration as yyyymmdd, 0 if unknown
	Expires      int32 // day of expiration as yyyymmdd, 0 if unknown
}

// Gender is a user's gender as far as it is known.
type Gender uint8

const (
	GenderUnknown Gender = iota
	Female
	Male
)

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
	ComposerSongs int32 // songs of the same first composer in songs.csv, 0 if there is none
}
