package kkbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox"
)

func TestReportString(t *testing.T) {
	_, report := read(t, memory(small()))
	const want = `  rows  published  ragged  duplicate  unreadable  file
     4  7,377,418       0          0           0  train.csv
     5  2,296,320       0          0           0  songs.csv
     4  2,295,971       0          0           0  song_extra_info.csv
     3     34,403       0          0           0  members.csv
     3  2,556,790       0          0           0  test.csv

    here  published  of train.csv
       2     30,755  users
       3    359,966  songs
       4    419,839  songs with those of test.csv
       1         66  of them not in songs.csv
       0          0  users not in members.csv
  0.5000     0.5035  mean of the target

warning: train.csv is a part of the data: 4 of 7,377,418 rows
warning: songs.csv is a part of the data: 5 of 2,296,320 rows
warning: song_extra_info.csv is a part of the data: 4 of 2,295,971 rows
warning: members.csv is a part of the data: 3 of 34,403 rows
warning: test.csv is a part of the data: 3 of 2,556,790 rows
warning: 25.0 % of the rows have a song that songs.csv does not have
`
	if got := report.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReportWarnings(t *testing.T) {
	synthetic := func(folder map[string]string) map[string]string {
		folder["truth.csv"] = lines("probability", "1", "0", "0", "1")
		return folder
	}
	for name, c := range map[string]struct {
		folder map[string]string
		want   []string // all of them, without those on the size of the data
	}{
		"none but on missing songs": {synthetic(small()), []string{"25.0 % of the rows have a song that songs.csv does not have"}},
		"target mean": {with("train.csv", strings.ReplaceAll(trainText, ",0\n", ",1\n")), []string{
			"100.0 % of the targets are 1, not 50.4 % as in the data of the challenge", "25.0 % of the rows have a song that songs.csv does not have"}},
		"saved by a spreadsheet": {synthetic(with("songs.csv", strings.ReplaceAll(songsText, ".0\n", "\n")+"s3=,1,,a,,,3\n")), []string{
			"songs.csv seems to have been saved by a spreadsheet or another program"}},
		"byte order mark": {synthetic(with("members.csv", "\ufeff"+membersText)), []string{
			"members.csv seems to have been saved by a spreadsheet or another program", "25.0 % of the rows have a song that songs.csv does not have"}},
		"counts": {synthetic(with("songs.csv", songsText+lines("s3=,1,,\"a,,,3.0", "x", "s3=,1,,a,,,3.0", "s4=,a"))), []string{
			"songs.csv, rows of another number of fields than the header: 2",
			"songs.csv, rows with a quote that nothing closes: 1",
			"songs.csv, rows that another had before, which are left out: 2"}},
		"unreadable": {synthetic(with("song_extra_info.csv", extraText+"s4=,x,??\n")), []string{
			"song_extra_info.csv, values that cannot be read, which are taken as missing: 1", "25.0 % of the rows have a song that songs.csv does not have"}},
		"unknown user": {synthetic(with("members.csv", strings.Replace(membersText, "bob=", "rob=", 1))), []string{
			"25.0 % of the rows have a song that songs.csv does not have", "50.0 % of the users are not in members.csv"}},
		"cut off": {synthetic(with("members.csv", membersText+"x,1")), []string{
			"members.csv ends within a row, which is left out", "members.csv, rows of another number of fields than the header: 1", "25.0 % of the rows have a song that songs.csv does not have"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, report := read(t, memory(c.folder))
			got := slices.DeleteFunc(report.Warnings, func(w string) bool { return strings.Contains(w, "is a part of the data") })
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
}

// A spreadsheet has room for 2^20 lines.
func TestReportOfAsManyRowsAsASpreadsheetHas(t *testing.T) {
	folder := small()
	folder["test.csv"] = "msno,song_id\n" + strings.Repeat("a,b\n", 1<<20-1)
	_, report := read(t, memory(folder))
	if want := "test.csv has as many rows as fit into a spreadsheet: it is cut off and was saved by one"; !slices.Contains(report.Warnings, want) {
		t.Errorf("got %q, want %q among them", report.Warnings, want)
	}
}

func TestReportOfTheWholeData(t *testing.T) {
	r := kkbox.Report{Rows: 7_377_418, Users: 30_755, Songs: 419_839, TrainSongs: 359_966, TargetMean: 0.5035170841614234, UnlistedSongs: 66, UnlistedRows: 114}
	if s := r.String(); strings.Contains(s, "warning") || !strings.Contains(s, "0.5035     0.5035  mean of the target") {
		t.Errorf("got\n%s", s)
	}
}
