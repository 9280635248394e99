package logged_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/logged"
)

func read(t *testing.T, text string, f logged.Format) *logged.Log {
	t.Helper()
	log, err := logged.Read(strings.NewReader(text), "a.csv", f)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// unchecked are the warnings that are not Check's.
func unchecked(l *logged.Log) []string {
	return l.Warnings[:len(l.Warnings)-len(l.Check())]
}

// same compares what the fields say.
func same(a, b *logged.Log) bool {
	return fmt.Sprint(a.Features, a.Candidates, unchecked(a), a.Decisions) == fmt.Sprint(b.Features, b.Candidates, b.Warnings, b.Decisions)
}

// Two decisions of different sizes, in a file that other programs have touched: a byte order mark,
// blanks, quotes, line ends of Windows and empty records.
func TestRead(t *testing.T) {
	const text = "\ufeff\"decision\", user ,chosen,reward,propensity,a,\"b\"\r\n" +
		"x,me,0,,,1,2\r\n" + "x,me,1, -1.5 ,0.25,3,\"4\"\r\n" + ",,,,,,\r\n\r\n , \r\n" +
		"y,you,1,1,0.5,5,6\r\n" + "y,you,0,0,none,7,8\r\n" + "y,you,0,,,9,1e1\r\n"
	want := &logged.Log{
		Features: []string{"a", "b"}, Candidates: 3,
		Decisions: []logged.Decision{
			{ID: "x", User: "me", Contexts: []float32{1, 2, 3, 4}, Chosen: 1, Reward: -1.5, Propensity: 0.25},
			{ID: "y", User: "you", Contexts: []float32{5, 6, 7, 8, 9, 10}, Chosen: 0, Reward: 1, Propensity: 0.5},
		},
		Warnings: []string{"2 records whose fields are all empty are left out"},
	}
	if got := read(t, text, logged.Format{}); !same(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}

	// Other names, another separator, a choice of the features, and columns that nobody reads.
	const other = "id;who;shown;paid;p;a;b;remark\n1;me;1;2;x;3;4;red\n1;me;0;;;5;6;\n"
	f := logged.Format{Decision: "id", User: "who", Chosen: "shown", Reward: "paid", Uniform: true, Features: []string{"b"}, Comma: ';'}
	want = &logged.Log{Features: []string{"b"}, Candidates: 2, Decisions: []logged.Decision{
		{ID: "1", User: "me", Contexts: []float32{4, 6}, Reward: 2, Propensity: 0.5}}}
	if got := read(t, other, f); !same(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// Decisions whose features share blocks of memory have their own, and one that gets more changes no other.
func TestReadMany(t *testing.T) {
	for _, f := range []logged.Format{{}, {Categories: []string{"b"}}} {
		text := strings.Builder{}
		text.WriteString("decision,chosen,reward,a,b\n")
		for i := range 50000 {
			fmt.Fprintf(&text, "%d,1,1,%d,%d\n", i, i, i%2)
		}
		log := read(t, text.String(), f)
		for _, d := range log.Decisions {
			_ = append(d.Contexts, -1) // has no room beside it
		}
		for i, d := range log.Decisions {
			want := []float32{float32(i), float32(i % 2)}
			if f.Categories != nil {
				want = []float32{float32(i), float32(1 - i%2), float32(i % 2)} // a, b=0, b=1
			}
			if got := log.Contexts(d); !slices.Equal(got, want) {
				t.Fatalf("%+v: decision %d has %v, want %v", f, i, got, want)
			}
		}
	}
}

// What may be no fault is a warning.
func TestReadWarnings(t *testing.T) {
	const head, whole = "decision,user,chosen,reward,propensity,a\n", "1,u,1,1,0.5,3\n1,u,0,,,4\n"
	const left = "the last decision is left out: "
	for rest, want := range map[string]string{ // behind a whole decision
		"2,u,1,1,0.5,\"3":             left + "parse error on line 4",        // cut within quotes
		"2,u,1,1,0.5":                 left + `line 4 has 5 columns`,         // within a record
		"2,u,1,1,0.5,":                left + `line 4, column "a": "" is no`, // behind a field
		"2,u,1,1,0.5,-":               left + `line 4, column "a": "-" is n`, // within a field
		"2,u,0,,,4\n":                 left + `line 4, column "chosen": dec`, // behind a newline
		"22,u,1,1,0.5,3\n2":           left + `line 5 has 1 columns`,         // within the id
		"2,u,1,1,0.5,3\n2,u,0,":       left + `line 5 has 4 columns`,         // within a decision
		"2,u,1,1,0.5,3\n2,u,0,,,\"\n": left + "parse error on line 5",
		"1,u,0,5,,4\n":                "1 candidates that were not chosen have rewards",
		"1,u,0,,,5":                   "no newline is behind the last decision",
		"2,u,1,1\n\n\r\n\n":           left + `line 4 has 4 columns`,
		"2,u,1,1,0.5,3\n2,u,0\n\n":    left + `line 5 has 3 columns`,
		"22,u,1,1,0.5,3\n2" + strings.Repeat("x", 1e6): left + `line 5 has 1 columns`,
	} {
		log := read(t, head+whole+rest, logged.Format{})
		if len(log.Decisions) != 1 || len(unchecked(log)) != 1 || !strings.HasPrefix(log.Warnings[0], want) || len(log.Warnings[0]) > 1000 {
			t.Errorf("%.99q: %d decisions, warnings %.2000q, want %s", rest, len(log.Decisions), log.Warnings, want)
		}
	}
	// Numbers that float32 does not keep are counted by column, but not fractions.
	const digits = `have more digits than float32 keeps: subtract an offset, scale them, or make them categories`
	for numbers, want := range map[string]string{
		"16777217,1,3000000001 .1,1,3000000002 0,1,.1":                                 `2 numbers of column "a" ` + digits + `; 1 numbers of column "reward" ` + digits,
		"16777216.75,1,123456789012345678901234 0,1,1e30 0,1,1700000000.25 0,1,-1e-50": `4 numbers of column "a" ` + digits + `; 1 numbers of column "reward" ` + digits, "0.1,1,-1e-40 16777216,1,0": "",
	} {
		rows := ""
		for i, row := range strings.Fields(numbers) {
			rows += fmt.Sprintf("%d,u,1,%s\n", i, row)
		}
		if got := strings.Join(unchecked(read(t, head+rows, logged.Format{})), "; "); got != want {
			t.Errorf("%s: warnings %s", numbers, got)
		}
	}
	wide := strings.Repeat(strings.Repeat("x", 1e5)+",", 2) + strings.Repeat("y,", 8)
	for i := range 10 {
		wide = strings.Replace(wide, ",", fmt.Sprint(i, ";"), 1)
	}
	wide = "decision,chosen,reward," + strings.TrimSuffix(strings.ReplaceAll(wide, ";", ","), ",") + "\n"
	long := read(t, wide+"1,1,1"+strings.Repeat(",3000000001", 10)+"\n2,1,0"+strings.Repeat(",3000000001", 10)+"\n", logged.Format{}).Warnings
	if text := strings.Join(long, "\n"); len(text) > 2000 || strings.Count(text, digits) != 9 { // two names begin alike
		t.Errorf("warnings of %d letters: %.3000s", len(text), text)
	}
	// What is whole is kept.
	if log := read(t, head+whole+"2,u,1,1,1,3\n3,u,1", logged.Format{}); len(log.Decisions) != 2 {
		t.Errorf("read %d decisions", len(log.Decisions))
	}
}

// A log warns by the names of its columns of what cannot be learned from it.
func TestLogCheck(t *testing.T) {
	rows := "decision,chosen,reward,propensity,price,age\n"
	for i := range 100 {
		rows += fmt.Sprintf("%d,1,%d,.5,%de18,%d\n%d,0,,,%de18,%d\n", i, i%2, 100+i%7, i%3, i, 50+i%5, i%3)
	}
	warnings := read(t, rows, logged.Format{}).Warnings[1:] // the first is of rounding
	if text := strings.Join(warnings, "; "); len(warnings) != 2 || !strings.HasPrefix(text, "1 of 2 features are the same for all candidates of a set") || !strings.Contains(text, ": age") || !strings.Contains(text, ": price (1e+20)") {
		t.Errorf("warnings %q", warnings)
	}
}

// Of a long log Check looks at some decisions, and says so; a rare reward is one of them.
func TestCheckSamples(t *testing.T) {
	log := &logged.Log{Candidates: 1000, Features: slices.Repeat([]string{"x"}, 1000)}
	for range 12 {
		log.Decisions = append(log.Decisions, logged.Decision{Contexts: make([]float32, 1e6)})
	}
	log.Decisions[7].Reward = 1
	if got := log.Check(); len(got) != 1 || !strings.HasPrefix(got[0], "by one decision in 3: 1000 of 1000 features are the same in all contexts") {
		t.Errorf("warnings %q", got)
	}
}

// Only columns with a purpose are checked.
func TestReadChecksUsedColumns(t *testing.T) {
	const text = ",decision,chosen,reward,propensity,propensity,a,b,b,\n0,1,1,1,none,,3,x,y,\n"
	log := read(t, text, logged.Format{Features: []string{"a"}, Uniform: true})
	if len(unchecked(log)) > 0 || log.Decisions[0].Contexts[0] != 3 {
		t.Errorf("read %+v", log)
	}
}

func TestReadErrors(t *testing.T) {
	const head = "decision,user,chosen,reward,propensity,a\n"
	const good = "1,u,1,1,0.5,3\n1,u,0,,,4\n"
	for _, test := range []struct {
		text   string
		format logged.Format
		want   string
	}{
		{"", logged.Format{}, "the header: EOF"},
		{"\xff\xfed\x00e\x00", logged.Format{}, "it is UTF-16, want UTF-8: save it as"},
		{"d\x00e\x00", logged.Format{}, "it is UTF-16"},
		{"decision,chosen,reward,a,\n", logged.Format{}, "a column has no name: say which are features in Format.Features"},
		{head, logged.Format{}, "there are no decisions"},
		{"decision;chosen;a\n", logged.Format{}, `there is no column "decision" for this: with ',' between columns, they are ["decision;chosen;a"]`},
		{head, logged.Format{User: "who"}, `there is no column "who"`},
		{head, logged.Format{Features: []string{"a", "a"}}, `column "a" has two purposes or stands twice`},
		{"decision,chosen,reward,a,a\n", logged.Format{}, `column "a" has two purposes or stands twice`},
		{"decision,chosen,reward\n", logged.Format{}, "there are no decisions with features"},
		{head + "1,u,1,1,0.5\n" + good, logged.Format{}, `line 2 has 5 columns, the header has 6: ["1" "u" "1" "1" "0.5"]`},
		{head + good + "2,u,1,1,0.5,3,4\n", logged.Format{}, `line 4 has 7 columns`},
		{head + "1,u\"v,1,1,0.5,3\n", logged.Format{}, `parse error on line 2, column 4: bare " in non-quoted`},
		{head + "1,u,1,1,0.5,3\n1,v,0,,,4\n", logged.Format{}, `line 3, column "user": "v", the first row of decision "1" has "u"`},
		{head + good + "2,\"u,1,1,0.5,3\n" + good + good, logged.Format{}, "record on line 4; parse error on line 9"},
		{head + "1,u,1,1,1e-320,3\n", logged.Format{}, `line 2, column "propensity": "1e-320" is not a probability from 1e-6 to 1`},
		{head + "1,u,yes,1,0.5,3\n", logged.Format{}, `line 2, column "chosen": "yes", want 1 for one`},
		{head + "1,u,1,1,0.5,3\n1,u,1,1,0.5,3\n", logged.Format{}, `line 3, column "chosen": "1", want 1 for one`},
		{head + good + "2,u,0,,,3\n2,u,0,,,4\n" + "3,u,1,1,1,3\n", logged.Format{}, `line 4, column "chosen": decision "2" has no choice`},
		{head + "1,u,1,,0.5,3\n", logged.Format{}, `line 2, column "reward": "" is not a finite number`},
		{head + "1,u,1,NaN,0.5,3\n", logged.Format{}, `line 2, column "reward": "NaN" is not a finite number`},
		{head + "1,u,1,1,,3\n", logged.Format{}, `line 2, column "propensity": "" is not a probability from 1e-6 to 1`},
		{head + good + "\n2,u,1,1,1e-9,3\n", logged.Format{}, `line 5, column "propensity": "1e-9" is not a probability from 1e-6 to 1`},
		{head + "1,u,1,1,1.5,3\n", logged.Format{}, `line 2, column "propensity": "1.5" is not a probability from 1e-6 to 1`},
		{head + good + "2,u,1,1,0.5,\n3,u,1,1,1,3", logged.Format{}, `line 4, column "a": "" is not a finite number`},
		{head + "1,u,1,1,0.5,1e39\n2,u,1,1,1,1\n", logged.Format{}, `line 2, column "a": "1e39" is not a finite number`},
		{head + good + "2,u,1,1,0.5,3\n" + good, logged.Format{}, `line 5, column "decision": "1" is also in line 2`},
	} {
		if strings.Count(test.text, "\n") > 1 {
			test.text += "99,u,1,1,1,1\n" // else it may be that the file was cut
		}
		_, err := logged.Read(strings.NewReader(test.text), "a.csv", test.format)
		if err == nil || !strings.HasPrefix(err.Error(), "logged: a.csv: "+test.want) {
			t.Errorf("%q: the error is %v, want %s", test.text, err, test.want)
		}
	}
	if _, err := logged.ReadFile("none.csv", logged.Format{}); err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("of a missing file: %v", err)
	}
}

// Whatever the file says, what is read can be learned and judged, or is an error with the file's name.
func FuzzRead(f *testing.F) {
	fuzz(f, "a.csv", "decision,user,chosen,reward,propensity,a\n1,u,1,1,0.5,3\n1,u,0,,,4\n2,\"u\",1,-1e9,1,3",
		"\ufeffdecision,chosen,reward,a,b\r\n1,1,1,0.5,3\r\n,,,,\r\n2,1,0,1e39,-", "decision,chosen,reward,a\n1,1,\"1")
}

func FuzzEvents(f *testing.F) {
	fuzz(f, "a.dsjson", `{"_label_cost":-2,"_label_probability":0.75,"_label_Action":2,"_labelIndex":1,"EventId":1,"pdrop":0.5,"c":{"u":"x","_multi":[{"p":2.5},{"p":{"q":[1e30,"a"]}}]}}`+"\n",
		`{"_label_cost":1,"_label_probability":1,"_labelIndex":0,"c":{"_multi":[3]}}`+"\n\n{\"c\":")
}

func fuzz(f *testing.F, name string, texts ...string) {
	for _, text := range texts {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, uniform bool) {
		path := filepath.Join(write(t, name, text), name)
		log, err := logged.ReadFile(path, logged.Format{Uniform: uniform})
		if err == nil && (uniform || log.Decisions[0].Propensity > 0) {
			_, err = logged.Evaluate(context.Background(), log, &first{}, 1)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "logged: "+name+": ") || log != nil) {
			t.Errorf("%q: log %+v, error %v", text, log, err)
		}
	})
}
