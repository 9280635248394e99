package kkbox

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Report is what was found in the files, to be looked at before what is made of
// them.
type Report struct {
	Files []FileReport // those that are there: train.csv, songs.csv, song_extra_info.csv, members.csv, test.csv, truth.csv

	// Of the rows that are used, which are those of train.csv without duplicates:
	Rows       int
	Users      int
	Songs      int     // with test.csv
	TrainSongs int     // without
	TargetMean float64 // share of rows whose target is 1

	UnlistedSongs int // of Songs, those that songs.csv does not have
	UnlistedRows  int // of Rows, those with such a song
	UnknownUsers  int // of Users, those that members.csv does not have

	Synthetic bool // whether truth.csv is there

	// Warnings say, a sentence each, what differs from the data of the
	// challenge. Synthetic data are not held against its size.
	Warnings []string

	Cached bool // whether it comes from the cache
}

// FileReport is what was found in one file.
type FileReport struct {
	Name string // X.csv
	Path string // where it was found
	Rows int    // records without the header, and without one that is cut off

	Ragged     int // records of another number of fields than the header; what they lack is missing
	Stray      int // records with a quote that nothing closes
	Duplicates int // rows left out since another had the user and song, or the song or user of the rows, before
	Unreadable int // values that are no such number, day or code, and taken as missing

	CutOff          bool // the last record is too short and has no line end, and is left out
	ByteOrderMark   bool // at the beginning
	CarriageReturns bool // at the end of the header

	wholeLanguages int // rows of songs.csv whose language is 3, not 3.0
}

// The data of the challenge, as published write-ups tell it.
const (
	publishedUsers      = 30_755
	publishedTrainSongs = 359_966
	publishedSongs      = 419_839
	publishedTargetMean = 0.5035
)

var publishedRows = map[string]int{
	"train.csv": 7_377_418, "test.csv": 2_556_790, "songs.csv": 2_296_320, "song_extra_info.csv": 2_295_971, "members.csv": 34_403,
}

// spreadsheetRows are the records that fit into a spreadsheet below the header.
const spreadsheetRows = 1_048_575

func newReport(data *Dataset, trainSongs int, files []*FileReport) Report {
	r := Report{Rows: len(data.User), Users: len(data.Users), Songs: len(data.Songs), TrainSongs: trainSongs, Synthetic: data.Probability != nil}
	heard := 0
	for _, t := range data.Target {
		heard += int(t)
	}
	r.TargetMean = float64(heard) / float64(r.Rows)
	for _, s := range data.Songs {
		if !s.Listed {
			r.UnlistedSongs++
		}
	}
	for _, s := range data.Song {
		if !data.Songs[s].Listed {
			r.UnlistedRows++
		}
	}
	for _, u := range data.Users {
		if !u.Member {
			r.UnknownUsers++
		}
	}
	for _, f := range files {
		if f != nil {
			r.Files = append(r.Files, *f)
		}
	}
	r.warn()
	return r
}

// warn fills in the warnings.
func (r *Report) warn() {
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	for _, f := range r.Files {
		published := publishedRows[f.Name]
		switch {
		case r.Synthetic, published == 0, f.Rows == published:
		case f.Rows == spreadsheetRows:
			warn("%s has as many rows as fit into a spreadsheet: it is cut off and was saved by one", f.Name)
		case f.Rows < published:
			warn("%s is a part of the data: %s of %s rows", f.Name, thousands(f.Rows), thousands(published))
		default:
			warn("%s has more rows than the data of the challenge: %s, not %s", f.Name, thousands(f.Rows), thousands(published))
		}
		if f.CutOff {
			warn("%s ends within a row, which is left out", f.Name)
		}
		if f.ByteOrderMark || f.wholeLanguages > f.Rows/2 {
			warn("%s seems to have been saved by a spreadsheet or another program", f.Name)
		}
		count := func(n int, what string) {
			if n > 0 {
				warn("%s, %s: %s", f.Name, what, thousands(n))
			}
		}
		count(f.Ragged, "rows of another number of fields than the header")
		count(f.Stray, "rows with a quote that nothing closes")
		count(f.Duplicates, "rows that another had before, which are left out")
		count(f.Unreadable, "values that cannot be read, which are taken as missing")
	}
	if !r.Synthetic && math.Abs(r.TargetMean-publishedTargetMean) > 0.01 {
		warn("%.1f %% of the targets are 1, not %.1f %% as in the data of the challenge", 100*r.TargetMean, 100*publishedTargetMean)
	}
	// 114 rows of the real train.csv have a song that songs.csv does not have.
	if r.UnlistedRows > r.Rows/100 {
		warn("%.1f %% of the rows have a song that songs.csv does not have", 100*float64(r.UnlistedRows)/float64(r.Rows))
	}
	if r.UnknownUsers > r.Users/100 {
		warn("%.1f %% of the users are not in members.csv", 100*float64(r.UnknownUsers)/float64(r.Users))
	}
}

// String is a table of the files and one of the data, and the warnings.
func (r Report) String() string {
	var b strings.Builder
	table := func() *tabwriter.Writer { return tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight) }
	w := table()
	fmt.Fprintf(w, "rows\tpublished\tragged\tduplicate\tunreadable\t  file\n")
	for _, f := range r.Files {
		published := "-"
		if n := publishedRows[f.Name]; n > 0 {
			published = thousands(n)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t  %s\n", thousands(f.Rows), published, thousands(f.Ragged), thousands(f.Duplicates), thousands(f.Unreadable), f.Path)
	}
	w.Flush()
	b.WriteByte('\n')
	w = table()
	fmt.Fprintf(w, "here\tpublished\t  of train.csv\n")
	fmt.Fprintf(w, "%s\t%s\t  users\n", thousands(r.Users), thousands(publishedUsers))
	fmt.Fprintf(w, "%s\t%s\t  songs\n", thousands(r.TrainSongs), thousands(publishedTrainSongs))
	fmt.Fprintf(w, "%s\t%s\t  songs with those of test.csv\n", thousands(r.Songs), thousands(publishedSongs))
	fmt.Fprintf(w, "%s\t%s\t  of them not in songs.csv\n", thousands(r.UnlistedSongs), "66")
	fmt.Fprintf(w, "%s\t%s\t  users not in members.csv\n", thousands(r.UnknownUsers), "0")
	fmt.Fprintf(w, "%.4f\t%.4f\t  mean of the target\n", r.TargetMean, publishedTargetMean)
	w.Flush()
	if r.Synthetic {
		b.WriteString("\nThe data are synthetic: the true probabilities are known.\n")
	}
	for i, warning := range r.Warnings {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("warning: " + warning + "\n")
	}
	return b.String()
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
