package kkbox

// NumFields is how many features a song has: the paper's 94 (section 6.1).
// Which they are, the paper leaves open; these are ours, see Variant.Columns.
const NumFields = 94

// Variant chooses among the sets of 94 features. The zero value is the default.
type Variant struct {
	// CatalogueCounts leaves out what is known only after the whole period: how
	// often a song, and those of its artist, were heard. Columns 18 to 22 and 25
	// are 0 then, and what the catalogue says stays: columns 23 and 24.
	CatalogueCounts bool

	// SourceFields has where the user came upon the song in place of the hashed
	// names, columns 78 to 93. That belongs to a row, not to a song, and is known
	// before the decision.
	SourceFields bool
}

// Column documents one of the features.
type Column struct {
	Name string
	Doc  string
}

// Columns returns the 94 features in their order.
func (v Variant) Columns() []Column {
	columns := append([]Column(nil), songColumns[:]...)
	if v.CatalogueCounts {
		for i := range columns {
			if isRowCount(i) {
				columns[i].Doc = "0: a count of the whole period"
			}
		}
	}
	if v.SourceFields {
		columns = columns[:firstHash]
		for _, level := range sourceTypes {
			columns = append(columns, Column{"type=" + level, "one-hot of source_type; all 0 if missing"})
		}
		for _, level := range sourceTabs {
			columns = append(columns, Column{"tab=" + level, "one-hot of source_system_tab; all 0 if missing or another"})
		}
	}
	return columns
}

// Where the blocks of columns begin.
const (
	firstCount    = 18
	firstLanguage = 26
	firstGenre    = 37
	firstCountry  = 62
	firstYear     = 70
	firstHash     = 78

	artistBuckets = 8 // then 4 each for composers and lyricists
	nameBuckets   = 4
)

// isRowCount says whether a column counts rows of the whole period.
func isRowCount(column int) bool { return column >= 18 && column <= 22 || column == 25 }

var (
	languages = [...]int16{-1, 3, 10, 17, 24, 31, 38, 45, 52, 59} // and one for all others
	genres    = [...]int{465, 458, 921, 1609, 444, 1259, 2022, 359, 139, 2122, 786, 451, 437, 958, 1616, 1011, 2157, 726, 947, 691, 1152, 829, 798, 940}
	countries = [...]string{"TW", "US", "GB", "KR", "HK", "JP", "CN"}
	yearsFrom = [...]int{1990, 2000, 2005, 2010, 2013, 2015, 2016} // the first years of the bins after the first

	sourceTypes = [...]string{
		"local-library", "online-playlist", "local-playlist", "radio", "album", "top-hits-for-artist", "song",
		"song-based-playlist", "listen-with", "topic-article-playlist", "artist", "my-daily-playlist",
	}
	sourceTabs = [...]string{"my library", "discover", "search", "radio"}
)

const (
	docLanguage = "one-hot of int(language)"
	docGenre    = "multi-hot"
	docCountry  = "one-hot isrc[0:2]; all 0 if missing"
	docYear     = "one-hot; all 0 if missing"
	docArtist   = "signed FNV-1a hash of normalised artist tokens into 8 buckets, +-1/sqrt(#tokens)"
	docComposer = "signed FNV-1a hash of normalised composer tokens into 4 buckets, +-1/sqrt(#tokens)"
	docLyricist = "signed FNV-1a hash of normalised lyricist tokens into 4 buckets, +-1/sqrt(#tokens)"
)

// songColumns are the features of the zero Variant. A missing number is 0,
// which is the mean where the column is standardised.
var songColumns = [NumFields]Column{
	{"len_z", "(ln(song_length_ms)-12.383)/0.2357, clip +-4; 0 if song missing"},
	{"song_missing", "1 if song_id not in songs.csv"},
	{"n_genre", "#'|' tokens of genre_ids (0 if empty), /3 clip 3"},
	{"genre_missing", "1 if genre_ids empty"},
	{"n_artist", "artists in artist_name, split on | , & ; / feat and x; log1p; 0 if empty"},
	{"is_featured", "1 if ' feat' or 'featuring' in artist_name or name"},
	{"is_various", "1 if artist_name in {Various Artists, Various}"},
	{"n_composer", "tokens split on | / \\ ; 、 ，; log1p; 0 if empty"},
	{"composer_missing", "1 if composer empty"},
	{"n_lyricist", "same for lyricist"},
	{"lyricist_missing", "1 if lyricist empty"},
	{"artist_is_composer", "1 if any normalised token shared"},
	{"artist_is_lyricist", "same"},
	{"composer_is_lyricist", "same"},
	{"isrc_missing", "1 if no isrc"},
	{"year_z", "(isrc_year-2010)/8 clip +-4; 0 if missing; yy>17 -> 19yy else 20yy"},
	{"title_ascii", "share of ASCII letters among letters of name; 0.5 if no name"},
	{"title_version", "1 if name has a word of remix, live, inst, instrumental, karaoke, cover, version"},
	{"pop_song", "log1p(rows with this song in train+test), standardised"},
	{"pop_artist", "log1p(rows with this artist), standardised"},
	{"pop_composer", "log1p(rows with first composer), standardised; 0 if missing"},
	{"pop_lyricist", "log1p(rows with first lyricist), standardised; 0 if missing"},
	{"pop_genre", "log1p(rows with first genre id), standardised; 0 if missing"},
	{"cat_artist", "log1p(#songs of artist in songs.csv), standardised; 0 if missing"},
	{"cat_composer", "log1p(#songs of first composer in songs.csv), standardised; 0 if missing"},
	{"pop_registrant", "log1p(rows sharing isrc[2:5] registrant code), standardised; 0 if missing"},
	{"lang=-1", docLanguage},
	{"lang=3", docLanguage},
	{"lang=10", docLanguage},
	{"lang=17", docLanguage},
	{"lang=24", docLanguage},
	{"lang=31", docLanguage},
	{"lang=38", docLanguage},
	{"lang=45", docLanguage},
	{"lang=52", docLanguage},
	{"lang=59", docLanguage},
	{"lang=other/missing", docLanguage},
	{"genre=465", docGenre},
	{"genre=458", docGenre},
	{"genre=921", docGenre},
	{"genre=1609", docGenre},
	{"genre=444", docGenre},
	{"genre=1259", docGenre},
	{"genre=2022", docGenre},
	{"genre=359", docGenre},
	{"genre=139", docGenre},
	{"genre=2122", docGenre},
	{"genre=786", docGenre},
	{"genre=451", docGenre},
	{"genre=437", docGenre},
	{"genre=958", docGenre},
	{"genre=1616", docGenre},
	{"genre=1011", docGenre},
	{"genre=2157", docGenre},
	{"genre=726", docGenre},
	{"genre=947", docGenre},
	{"genre=691", docGenre},
	{"genre=1152", docGenre},
	{"genre=829", docGenre},
	{"genre=798", docGenre},
	{"genre=940", docGenre},
	{"genre=other", "1 if any id outside the 24"},
	{"cc=TW", docCountry},
	{"cc=US", docCountry},
	{"cc=GB", docCountry},
	{"cc=KR", docCountry},
	{"cc=HK", docCountry},
	{"cc=JP", docCountry},
	{"cc=CN", docCountry},
	{"cc=other", docCountry},
	{"year=<1990", docYear},
	{"year=1990-99", docYear},
	{"year=2000-04", docYear},
	{"year=2005-09", docYear},
	{"year=2010-12", docYear},
	{"year=2013-14", docYear},
	{"year=2015", docYear},
	{"year=2016-17", docYear},
	{"h_artist0", docArtist},
	{"h_artist1", docArtist},
	{"h_artist2", docArtist},
	{"h_artist3", docArtist},
	{"h_artist4", docArtist},
	{"h_artist5", docArtist},
	{"h_artist6", docArtist},
	{"h_artist7", docArtist},
	{"h_composer0", docComposer},
	{"h_composer1", docComposer},
	{"h_composer2", docComposer},
	{"h_composer3", docComposer},
	{"h_lyricist0", docLyricist},
	{"h_lyricist1", docLyricist},
	{"h_lyricist2", docLyricist},
	{"h_lyricist3", docLyricist},
}
