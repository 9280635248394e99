package paper_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/paper"
)

var timings = []paper.Timing{
	{Machine: "a processor, 2 CPUs", Version: "v1", Backend: "go simd", Loop: "host", Threads: 1, Clock: "cpu", Shape: "toy", Runs: 20, Operation: "update", Micros: 5000, Low: 4500, High: 6500},
	{Machine: "a processor, 2 CPUs", Version: "v1", Backend: "go simd", Loop: "host", Threads: 1, Clock: "cpu", Shape: "toy", Runs: 1, Operation: "update", Micros: 300, Low: 290, High: 310},
	{Machine: "a processor, 2 CPUs", Version: "v1", Backend: "go simd", Loop: "host", Threads: 1, Clock: "cpu", Shape: "toy", Runs: 20, Operation: "act", Micros: 100, Low: 99, High: 101},
	{Machine: "a GPU", Version: "v1", Backend: "xla:cuda", Loop: "device", Clock: "wall", Shape: "toy", Runs: 20, Operation: "update", Micros: 30.5, Low: 30, High: 31},
}

func TestTimings(t *testing.T) {
	var text bytes.Buffer
	if err := paper.WriteTimings(&text, timings); err != nil {
		t.Fatal(err)
	}
	back, err := paper.ReadTimings(bytes.NewReader(text.Bytes()))
	if err != nil || !reflect.DeepEqual(back, timings) {
		t.Errorf("read back: %+v, %v", back, err)
	}
	good := text.String()
	for _, c := range []struct{ damaged, want string }{
		{"", "without a header"},
		{strings.Replace(good, "machine,", "engine,", 1), "line 1: the header"},
		{strings.Replace(good, ",5000,", ",50x0,", 1), "line 2"},
		{strings.Replace(good, ",5000,", ",NaN,", 1), "line 2"},
		{strings.Replace(good, ",5000,", ",7000,", 1), "line 2: 7000 microseconds in 4500 to 6500"},
		{strings.Replace(good, ",20,update", ",0,update", 1), "of 0 runs"},
		{good + "half a line,", "wrong number of fields"},
	} {
		if _, err := paper.ReadTimings(strings.NewReader(c.damaged)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}

	dir := filepath.Join(t.TempDir(), "it's [a] *")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := paper.StoredTimings(dir); err == nil {
		t.Error("an empty folder is no error")
	}
	for name, text := range map[string]string{"a.csv": good, "b.csv": strings.ReplaceAll(good, ",v1,", ",v2,")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := paper.StoredTimings(dir); err != nil || len(all) != 2*len(timings) {
		t.Errorf("%d timings, %v", len(all), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.csv"), []byte(good), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := paper.StoredTimings(dir); err == nil || !strings.Contains(err.Error(), "c.csv: update of toy, R = 20, on go simd, 1 thread") || !strings.HasSuffix(err.Error(), "a.csv too") {
		t.Errorf("the same timings twice: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b.csv"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := paper.StoredTimings(dir); err == nil || !strings.Contains(err.Error(), "b.csv") {
		t.Errorf("error %v, want one that names b.csv", err)
	}
}

func TestTimingTable(t *testing.T) {
	header, rows := paper.TimingTable(timings[:3])
	want := [][]string{
		{"toy", "20", "go simd, 1 thread", "100 (5.00)", "5,000 (250)", "-", "± 20 %"}, // (6500-4500)/2/5000
		{"toy", "1", "go simd, 1 thread", "-", "300", "-", "± 3 %"},
	}
	if _, gpu := paper.TimingTable(timings[3:]); !reflect.DeepEqual(gpu, [][]string{{"toy", "20", "xla:cuda, device loop", "-", "30.5 (1.52)", "-", "± 2 %"}}) {
		t.Errorf("%q", gpu)
	}
	if len(header) != 7 || !reflect.DeepEqual(rows, want) {
		t.Errorf("%q\n%q, want\n%q", header, rows, want)
	}
	if groups := paper.TimingOrigins(timings); len(groups) != 2 || len(groups[0]) != 3 || groups[1][0].Machine != "a GPU" {
		t.Errorf("by origin: %+v", groups)
	}
	if got := paper.TimingOrigin(timings[0]); got != "a processor, 2 CPUs; version v1; time of the processor" {
		t.Errorf("the origin is %q", got)
	}
	for x, want := range map[float64]string{0.1234: "0.123", 0.0123: "0.012", 1.236: "1.24", 12.36: "12.4", 123.6: "124", 999.7: "1000", 1234.5: "1,234", 1234567: "1,234,567"} {
		if got := paper.Microseconds(x); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
}

// A backend that was not timed for every number of runs has no bars.
func TestUpdateBars(t *testing.T) {
	labels, series := paper.UpdateBars(timings[:3], "toy")
	if strings.Join(labels, ";") != "R = 1;R = 20" || len(series) != 1 || series[0].Name != "go simd, 1 thread" {
		t.Fatalf("%q, %+v", labels, series)
	}
	if s := series[0]; !reflect.DeepEqual(s.Y, []float64{300, 250}) || !reflect.DeepEqual(s.Error, []float64{10, 75}) || !reflect.DeepEqual(s.Below, []float64{10, 25}) {
		t.Errorf("%+v", s)
	}
}

// What was measured on two machines, or with two versions, does not stand in one
// table.
func TestMixedTimings(t *testing.T) {
	other := timings[1]
	other.Version = "v2"
	for name, mixed := range map[string][]paper.Timing{"machines": timings, "versions": {timings[1], other}} {
		for function, call := range map[string]func(){
			"TimingTable": func() { paper.TimingTable(mixed) },
			"UpdateBars":  func() { paper.UpdateBars(mixed, "toy") },
		} {
			func() {
				defer func() {
					if text, _ := recover().(string); !strings.HasPrefix(text, "paper: "+function+": timings of 2 origins: ") {
						t.Errorf("%s of two %s: %q", function, name, text)
					}
				}()
				call()
			}()
		}
	}
}

// What is published can be read.
func TestPublishedTimings(t *testing.T) {
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	all, err := paper.StoredTimings(filepath.Join(root, filepath.FromSlash(paper.SpeedFolder)))
	if err != nil {
		t.Fatal(err)
	}
	for _, timing := range all {
		if timing.Machine == "" || timing.Version == "" {
			t.Errorf("%+v does not say where it is from", timing)
		}
	}
}
