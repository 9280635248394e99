package kkbox

import "math"

// The published statistics of the KKBox challenge's data that a synthetic set is
// made to have. Counts and means are those of public write-ups of the data
// (value counts and group means of train.csv, printed or read off figures);
// what no one printed is ours, and said to be.

// Sizes of the real files.
const (
	fullUsers     = 30_755    // of train.csv
	fullCatalogue = 2_296_320 // rows of songs.csv
	fullRows      = 7_377_418 // of train.csv
	rowMean       = 0.50352   // target mean of train.csv

	testRowShare  = 0.3466 // rows of test.csv by those of train.csv
	testUserShare = 0.70   // users of train.csv that test.csv has too
	lateUserShare = 0.1186 // users of test.csv alone by users of train.csv
	lateUserRows  = 0.21   // their rows by those of other users, 50 of 240
	unlistedShare = 0.000144
)

// level is a value of a field: its share of the rows of train.csv, and the mean
// of their targets, 0 where it is not known or too rare to match.
type level[T any] struct {
	value T
	share float64
	mean  float64
}

var typeLevels = []level[string]{
	{"local-library", .3065, .632},
	{"online-playlist", .2667, .425},
	{"local-playlist", .1463, .657},
	{"radio", .0655, .219},
	{"album", .0647, .393},
	{"top-hits-for-artist", .0574, .418},
	{"song", .0332, .437},
	{"song-based-playlist", .0285, .381},
	{"listen-with", .0261, .320},
	{"", .0029, 0},
	{"topic-article-playlist", .0015, .494},
	{"artist", .0004, .573},
	{"my-daily-playlist", .0001, .376},
}

// Where rows of each source_type come from. The shares of tabs and screens are
// published, their joint law is not: this one has about the right margins.
var typePlaces = map[string][]struct {
	tab, screen string
	share       float64
}{
	"local-library": {
		{"my library", "Local playlist more", .925}, {"my library", "", .035}, {"my library", "My library", .022},
		{"my library", "My library_Search", .003}, {"my library", "Unknown", .005}, {"null", "", .003}, {"settings", "Local playlist more", .001},
		{"my library", "Self profile more", .0001}, {"null", "Local playlist more", .0059},
	},
	"local-playlist": {
		{"my library", "Local playlist more", .957}, {"my library", "", .025}, {"my library", "My library", .015}, {"null", "", .001},
		{"settings", "Local playlist more", .001}, {"my library", "Unknown", .001},
	},
	"online-playlist": {
		{"discover", "Online playlist more", .595}, {"discover", "Discover Feature", .088}, {"discover", "Discover Chart", .100},
		{"discover", "Discover Genre", .037}, {"discover", "Discover New", .005}, {"discover", "", .042}, {"discover", "Unknown", .006},
		{"my library", "Online playlist more", .030}, {"my library", "Local playlist more", .022}, {"my library", "", .006},
		{"explore", "Explore", .020}, {"explore", "Online playlist more", .014}, {"search", "Online playlist more", .022},
		{"search", "Search", .006}, {"notification", "", .0025}, {"listen with", "Others profile more", .0045},
	},
	"radio": {
		{"radio", "Radio", .965}, {"radio", "", .012}, {"discover", "Radio", .008}, {"my library", "Radio", .006}, {"radio", "Unknown", .009},
	},
	"album": {
		{"search", "Album more", .352}, {"discover", "Album more", .240}, {"my library", "Album more", .210}, {"explore", "Album more", .042},
		{"search", "Search", .040}, {"discover", "Discover New", .012}, {"discover", "", .036}, {"my library", "", .030},
		{"search", "", .020}, {"listen with", "Others profile more", .010}, {"notification", "Album more", .004}, {"settings", "Album more", .004},
	},
	"top-hits-for-artist": {
		{"search", "Artist more", .330}, {"discover", "Artist more", .160}, {"my library", "Artist more", .080}, {"explore", "Artist more", .020},
		{"search", "Search", .200}, {"discover", "Discover Feature", .030}, {"discover", "", .100}, {"my library", "", .040}, {"search", "Unknown", .040},
	},
	"song": {
		{"search", "Search", .620}, {"search", "Search Trends", .055}, {"search", "Search Home", .055}, {"discover", "Discover Feature", .080},
		{"discover", "", .120}, {"my library", "", .030}, {"search", "Unknown", .040},
	},
	"song-based-playlist": {
		{"discover", "Discover Feature", .130}, {"discover", "Discover Genre", .040}, {"discover", "Online playlist more", .250},
		{"search", "Search", .100}, {"search", "Artist more", .100}, {"explore", "Explore", .140}, {"explore", "", .030},
		{"my library", "", .040}, {"discover", "", .110}, {"discover", "Unknown", .060},
	},
	"listen-with": {
		{"listen with", "Others profile more", .950}, {"listen with", "", .030}, {"listen with", "Unknown", .012}, {"listen with", "Self profile more", .001},
		{"discover", "Others profile more", .007},
	},
	"": {
		{"", "", .850}, {"my library", "", .080}, {"null", "", .070},
	},
	"topic-article-playlist": {
		{"discover", "Online playlist more", .600}, {"discover", "Discover Feature", .300}, {"discover", "", .090}, {"discover", "Concert", .010},
	},
	"artist": {
		{"search", "Artist more", .600}, {"discover", "Artist more", .400},
	},
	"my-daily-playlist": {
		{"discover", "Discover Feature", .700}, {"my library", "Online playlist more", .300},
	},
}

var tabLevels = []level[string]{
	{"my library", .4995, .620}, {"discover", .2954, .416}, {"search", .0845, .422}, {"radio", .0646, .223}, {"listen with", .0288, .327},
	{"explore", .0228, .423}, {"", .0025, 0}, {"null", .0009, 0}, {"notification", .0008, .378}, {"settings", .0003, .592},
}

var screenLevels = []level[string]{
	{"Local playlist more", .4376, .637}, {"Online playlist more", .1755, .415}, {"Radio", .0643, .216}, {"Album more", .0570, .390},
	{"", .0562, 0}, {"Search", .0405, .471}, {"Artist more", .0342, .417}, {"Discover Feature", .0331, .364}, {"Discover Chart", .0290, .516},
	{"Others profile more", .0274, .312}, {"Discover Genre", .0111, .347}, {"My library", .0103, 0}, {"Explore", .0098, 0}, {"Unknown", .0073, 0},
	{"Discover New", .0022, 0}, {"Search Trends", .0018, 0}, {"Search Home", .0018, 0}, {"My library_Search", .0009, 0}, {"Self profile more", .00003, 0},
	{"Concert", .00001, 0}, {"Payment", .000002, 0},
}

// language is a code of songs.csv and the script of its names.
type language struct {
	code      string
	catalogue float64 // share of songs.csv
	script    script

	composerMissing, lyricistMissing float64 // by row; ours, with the published total of 23 % and 43 %
}

var languageLevels = []level[language]{
	{language{"3.0", .0457, chinese, .17, .25}, .54824, .527},
	{language{"52.0", .5835, latin, .30, .71}, .25277, .481},
	{language{"31.0", .0170, korean, .25, .62}, .08901, .519},
	{language{"-1.0", .2787, latin, .42, .88}, .04185, .420},
	{language{"17.0", .0401, japanese, .28, .50}, .03323, .396},
	{language{"10.0", .0065, chinese, .20, .28}, .02330, .457},
	{language{"24.0", .0174, chinese, .20, .28}, .01066, .451},
	{language{"59.0", .0026, latin, .40, .70}, .00057, .513},
	{language{"45.0", .0061, latin, .40, .80}, .00032, .396},
	{language{"38.0", .0010, latin, .40, .80}, .00003, .405},
}

var countryLevels = []level[string]{
	{"TW", .4865, .527}, {"US", .1643, .488}, {"", .0783, .483}, {"GB", .0538, .465}, {"KR", .0495, .492}, {"HK", .0489, .526},
	{"JP", .0356, .401}, {"CN", .0153, .554}, {"QM", .0092, .471}, {"NL", .0059, .477}, {"DE", .0056, .383}, {"SG", .0050, .494},
	{"TC", .0049, .447}, {"FR", .0049, .368}, {"NO", .0046, .658}, {"MY", .0041, .496},
	{"AU", .004, 0}, {"SE", .004, 0}, {"CA", .003, 0}, {"QZ", .003, 0}, {"IT", .002, 0}, {"BE", .001, 0}, {"ES", .001, 0}, {"TH", .001, 0},
	{"ID", .0005, 0}, {"DK", .0005, 0}, {"FI", .0005, 0}, {"BR", .0005, 0}, {"ZA", .0002, 0}, {"PL", .0002, 0}, {"AT", .0002, 0},
}

// countryShares is the law of the country by language, in the order of
// countries. It is ours, with margins near the published ones.
var countryShares = [][]float64{
	{.765, .050, .080, .003, .001, .055, .001, .026, .001, .001, .0005, .009, .0015, .0002, 0, .0065},
	{.100, .430, .070, .195, .001, .010, .004, .001, .031, .021, .018, .001, .010, .016, .018, .001, .015, .015, .010, .010, .005, .004, .003, .001, .001, .002, .002, .001, .001, .001, .001},
	{.130, .190, .085, .002, .500, .005, .080, .001, .002, .001, 0, 0, .003},
	{.240, .200, .120, .100, .010, .030, .075, .010, .010, .015, .045, .002, .035, .035, .001, .002, .010, .005, .005, .005, .015, .002, .004, .001, .001, .001, .001, .001},
	{.060, .100, .075, .005, .001, .010, .740, .002, .002, 0, .001, 0, .003},
	{.880, .030, .070, .002, 0, .010, .002, .003, 0, 0, 0, .002, .001},
	{.130, .060, .080, .010, 0, .690, .002, .015, 0, 0, 0, .003, .010},
	{.020, .200, .100, .100, 0, 0, 0, 0, .03, .02, .02, .02, .03, .02, 0, .20, .02, .02, .02, .02, .02, .02, .04, .05, .05},
	{.020, .200, .100, .100, 0, 0, 0, 0, .03, .02, .02, .02, .03, .02, 0, .02, .02, .02, .02, .02, .10, .02, .04, .05, .05},
	{.020, .200, .100, .100, 0, 0, 0, 0, .03, .02, .02, .02, .03, .02, 0, .02, .02, .02, .02, .02, .05, .02, .04, .05, .10},
}

// genreLevels are the dominant ids of genre_ids; the means by genre are not public.
var genreLevels = []level[string]{
	{"465", .517, 0}, {"458", .172, 0}, {"921", .054, 0}, {"1609", .045, 0}, {"444", .038, 0}, {"1259", .025, 0}, {"2022", .021, 0}, {"", .016, 0},
	{"359", .015, 0}, {"139", .013, 0}, {"2122", .010, 0}, {"786", .009, 0}, {"451", .009, 0}, {"437", .008, 0}, {"958", .008, 0}, {"1616", .007, 0},
	{"1011", .005, 0}, {"2157", .004, 0}, {"726", .003, 0}, {"947", .002, 0}, {"691", .002, 0}, {"1152", .002, 0}, {"829", .001, 0}, {"798", .001, 0},
	{"940", .001, 0}, {"873", .001, 0}, {"1138", .001, 0}, {"864", .0005, 0}, {"1572", .0005, 0}, {"2130", .0005, 0},
}

// genreTilt multiplies the shares of genres, in their order, by language: ours.
var genreTilt = [][]float64{
	{1.05, 1.55, .8, .35, .9, .6, .3, .7, 1, 1.2, .7, .8, 1.3, 1.3, .2, .6},
	{1, .2, .8, 2.4, .6, 1.8, 2, 1, 1.2, .8, 1.6, 1.2, .8, .3, 2, 1.8},
	{.8, .3, 2.2, .6, 3.5, 1.8, .3, 1, .8, .5, .5, 1, .2, .5, .2, .6},
	{.4, .2, 2.5, 1.8, .3, .3, 5, 4, 2, 1, 4, 2, 1, .5, 8, 2},
	{1, .3, 2, 1, .4, .8, .8, 1, 1, 1, 1.5, 1, .3, .5, 1, 1},
	{.9, 1.2, .3, .2, .3, .3, .2, 1, .5, 4, .5, .3, 8, 6, .2, .3},
	{1.1, 1.5, .5, .2, .4, .4, .2, 1, .8, 1, .5, .4, 1, 1, .2, .3},
	nil, nil, nil,
}

// yearLevels are those of the ISRC, and 0 for a missing one. Years without a
// published mean between those with one have interpolated ones.
var yearLevels = []level[int]{
	{2017, .0132, .543}, {2016, .2740, .526}, {2015, .1128, .549}, {2014, .0813, .536}, {2013, .0543, .507}, {2012, .0552, .498}, {2011, .0435, .490}, {2010, .0398, .485},
	{2009, .0313, .471}, {2008, .0266, .473}, {2007, .0233, .475}, {2006, .0229, .466}, {2005, .0191, .466}, {2004, .0183, .476}, {2003, .0162, .472},
	{2002, .0124, .465}, {2001, .0135, .464}, {2000, .0132, .454}, {1999, .0115, .445}, {1998, .0063, .440}, {1997, .0055, .422}, {1996, .0040, .415},
	{1995, .0035, .408}, {1994, .0030, .401}, {1993, .0025, .394}, {1992, .0022, .386}, {1991, .0018, .379}, {1990, .0015, .372}, {1989, .0013, .365},
	{1988, .0012, .358}, {1985, .0010, .358}, {1982, .0008, .358}, {1978, .0006, .358}, {1972, .0004, .358}, {1965, .0003, .358},
}

var composerLevels = []level[int]{
	{0, .2271, .454}, {1, .5713, .5147}, {2, .0669, .490}, {3, .0536, .520}, {4, .0288, .512}, {5, .0230, .530}, {6, .0148, .557}, {7, .0145, 0},
}

var lyricistLevels = []level[int]{
	{0, .4309, .468}, {1, .4788, .529}, {2, .0409, .537}, {3, .0241, .543}, {4, .0091, .533}, {5, .0162, 0},
}

var genreCountLevels = []level[int]{
	{1, .9539, .504}, {2, .0404, .515}, {3, .0046, .387}, {4, .0008, .383}, {5, .0003, 0},
}

// timeMean is the target mean at t, the place in train.csv from 0 to 1: .69 in
// the first seventh, .61 in the next twentieth, .46 in the rest.
func timeMean(t float64) float64 {
	return sigmoid(1.5*math.Exp(-t/.31) - .42)
}

// rowsOfUser is the quantile function of the rows of a user of train.csv. The
// published distribution function was read off a figure; its knots above 10 rows
// are moved by 5 %, and the tail is a Pareto law of index 4, for the published
// mean of 239.88 and the row-weighted quartiles 286, 509 and 836.
func rowsOfUser(q float64) float64 {
	const moved, tail = 1.05, 4
	i := 1
	for i < len(rowQuantiles)-1 && rowQuantiles[i].below < q {
		i++
	}
	a, b := rowQuantiles[i-1], rowQuantiles[i]
	if i == 1 {
		return a.rows + q/b.below*(b.rows-a.rows)
	}
	if i == len(rowQuantiles)-1 {
		return min(moved*a.rows*math.Pow((1-a.below)/(1-q), 1./tail), b.rows)
	}
	return moved * (a.rows + (q-a.below)/(b.below-a.below)*(b.rows-a.rows))
}

var rowQuantiles = []struct{ rows, below float64 }{
	{.5, 0}, {10.5, .144}, {20.5, .219}, {50.5, .344}, {100.5, .463}, {150.5, .554}, {200.5, .624}, {300.5, .734}, {400.5, .812}, {500.5, .869},
	{600.5, .909}, {800.5, .953}, {990.5, .969}, {5537, 1},
}

// rowsOfSong is how many rows the song at a rank of popularity, from 1, can be
// expected to have in the full set. It follows straight lines between the knots,
// in logarithms; those up to rank 40 are published counts, the others are fitted
// so that Poisson counts have the published shares of rows of the top 2,577 to
// 212,418 songs, 359,966 songs with a row, and the shares of those with 1 to 5.
func rowsOfSong(rank float64) float64 {
	i := 1
	for i < len(songKnots)-1 && songKnots[i].rank < rank {
		i++
	}
	a, b := songKnots[i-1], songKnots[i]
	return a.rows * math.Pow(b.rows/a.rows, math.Log(rank/a.rank)/math.Log(b.rank/a.rank))
}

var songKnots = []struct{ rank, rows float64 }{
	{1, 14000}, {10, 11500}, {20, 9000}, {40, 7300}, {150, 2912.6}, {600, 1847.7}, {1300, 1126.7}, {2577, 494.5}, {4495, 273.2}, {8148, 131.9},
	{15949, 58.31}, {35808, 20.99}, {71397, 8.105}, {150000, 2.153}, {300000, .5218}, {700000, .0875}, {2296320, .0086},
}

// The law of a user's rate of listening again: a Beta law, whose mean rises with
// the rows of the user and whose spread falls, but for users on trial, most of
// them with few rows, who hardly listen again at all. Fitted to the published
// quartiles .21, .43 and .61, the 12 % of users who never listen again, the means
// by user and by row, and the AUC of .67 to .72 of the user alone.
func rateMean(rows float64) float64 { return sigmoid(-.61 + .105*math.Log(rows)) }

func ratePrecision(rows float64) float64 { return 4 + rows/150 }

func trialShare(rows float64) float64 { return .83 / (1 + math.Exp((math.Log(rows)-2.45)/.5)) }

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func logit(p float64) float64   { return math.Log(p / (1 - p)) }
