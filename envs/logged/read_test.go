package logged_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
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
	if err := log.Check(); err != nil {
		t.Error(err)
	}
	return log
}

// The text is the one of the package comment.
func TestRead(t *testing.T) {
	const text = `decision,user,chosen,reward,propensity,price,sweetness
1,ann,0,,,3.20,0.8
1,ann,1,1,0.5,2.90,0.1
2,bob,1,0,0.25,4.10,0.6
2,bob,0,,,3.20,0.8
`
	want := &logged.Log{
		Candidates: 2, Dim: 2, Features: []string{"price", "sweetness"},
		ID: []string{"1", "2"}, User: []string{"ann", "bob"},
		Contexts: []float32{3.2, 0.8, 2.9, 0.1, 4.1, 0.6, 3.2, 0.8},
		Chosen:   []int{1, 0}, Reward: []float32{1, 0}, Propensity: []float64{0.5, 0.25},
	}
	for name, text := range map[string]string{
		"plain":        text,
		"Windows":      "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n"),
		"blanks":       strings.ReplaceAll(text, ",", " , "),
		"quotes":       strings.ReplaceAll(text, "ann", `"ann"`),
		"no last line": strings.TrimSuffix(text, "\n"),
		"zeros":        strings.ReplaceAll(text, ",0,,,", ",0,0,,"),
	} {
		if got := read(t, text, logged.Format{}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %+v, want %+v", name, got, want)
		}
	}
	var written bytes.Buffer
	if err := want.Write(&written); err != nil {
		t.Fatal(err)
	}
	if got := read(t, written.String(), logged.Format{}); !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as %+v, want %+v", &written, got, want)
	}
}

func TestFormat(t *testing.T) {
	const text = "click;p;visit;shown;a;b;who\n" +
		";0.75;x;0;1;2;me\n" + "-1.5;0.25;x;1;3;4;me\n"
	f := logged.Format{Decision: "visit", User: "who", Chosen: "shown", Reward: "click", Propensity: "p", Comma: ';'}
	want := &logged.Log{
		Candidates: 2, Dim: 2, Features: []string{"a", "b"}, ID: []string{"x"}, User: []string{"me"},
		Contexts: []float32{1, 2, 3, 4}, Chosen: []int{1}, Reward: []float32{-1.5}, Propensity: []float64{0.25},
	}
	if got := read(t, text, f); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	f.Features = []string{"b"}
	want.Dim, want.Features, want.Contexts = 1, f.Features, []float32{2, 4}
	if got := read(t, text, f); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}

	// Without user and propensity.
	const bare = "decision,chosen,reward,a\n1,1,1,0\n1,0,,0\n1,0,,0\n1,0,,0\n"
	if log := read(t, bare, logged.Format{}); log.User != nil || log.Propensity != nil {
		t.Errorf("users %v, propensities %v", log.User, log.Propensity)
	}
	if log := read(t, bare, logged.Format{Uniform: true}); !reflect.DeepEqual(log.Propensity, []float64{0.25}) {
		t.Errorf("uniform: propensities %v, want 1/4", log.Propensity)
	}
}

func TestReadErrors(t *testing.T) {
	const head = "decision,user,chosen,reward,propensity,a\n"
	const good = "1,u,1,1,0.5,3\n1,u,0,,,4\n"
	for _, test := range []struct {
		text   string
		format logged.Format
		want   string // after the package's name, its beginning or, up to a line break, all
	}{
		{"", logged.Format{}, `a.csv: the file is empty`},
		{head, logged.Format{}, `a.csv: there are no decisions below the header`},
		{"decision,chosen,a\n", logged.Format{}, `a.csv: line 1: column "reward": there is no such column, there are: decision, chosen, a`},
		{head, logged.Format{User: "who"}, `a.csv: line 1: column "who": there is no such column`},
		{head, logged.Format{Features: []string{"b"}}, `a.csv: line 1: column "b": there is no such column`},
		{head, logged.Format{Features: []string{"a", "a"}}, `a.csv: line 1: column "a": it is named for two purposes`},
		{head, logged.Format{Features: []string{"reward"}}, `a.csv: line 1: column "reward": it is named for two purposes`},
		{head, logged.Format{Decision: "user"}, `a.csv: line 1: column "user": it is named for two purposes`},
		{head, logged.Format{Features: []string{}}, `a.csv: line 1: no column has features`},
		{"decision,chosen,reward\n", logged.Format{}, `a.csv: line 1: no column has features`},
		{"decision,chosen,reward,a,a\n", logged.Format{}, `a.csv: line 1: column "a": two columns of this name`},
		{"decision,chosen,reward,a,\n", logged.Format{}, `a.csv: line 1: column "5": the column has no name`},
		{"decision,chosen,reward,\"a\nb\"\n", logged.Format{}, `a.csv: line 1: column "4": the column has the name "a\nb", which is no line of UTF-8`},
		{head + good, logged.Format{Uniform: true}, `a.csv: line 1: column "propensity": the format says that the choices were uniform`},
		{head + "1,u,1,1,0.5\n", logged.Format{}, `a.csv: line 2: the row has 5 columns and the header 6`},
		{"decision;chosen;reward;a\n1;1;1;3\n", logged.Format{}, `a.csv: line 1: the header is one column, "decision;chosen;reward;a": where columns are separated by semicolons, set Format.Comma to ';'`},
		{"\ufeff\"decision\";\"chosen\"\r\n", logged.Format{}, `a.csv: line 1: the header is one column, "\"decision\";\"chosen\"": where columns are separated by semicolons`},
		{"decision\tchosen\treward\ta\n", logged.Format{}, `a.csv: line 1: the header is one column, "decision\tchosen\treward\ta": where columns are separated by tabs, set Format.Comma to '\t'`},
		{head, logged.Format{Comma: ';'}, `a.csv: line 1: the header is one column, "decision,user,chosen,reward,propensity,a": where columns are separated by commas, set Format.Comma to ','`},
		{"decision;chosen;reward;a\n1;1;1;0,5\n", logged.Format{Comma: ';'}, `a.csv: line 2: column "a": "0,5" is not a finite number: decimals have a point` + "\n"},
		// Empty lines before the header do not count, but as lines.
		{"\n\r\ndecision;chosen;reward;a\r\n1;1;1;3\n", logged.Format{}, `a.csv: line 3: the header is one column, "decision;chosen;reward;a": where columns are separated by semicolons, set Format.Comma to ';'` + "\n"},
		{"\n\ndecision,chosen,a\n", logged.Format{}, `a.csv: line 3: column "reward": there is no such column`},
		{"\n\n", logged.Format{}, `a.csv: the file is empty`},
		{"decision;chosen;reward;a\n1;1;1\n", logged.Format{Comma: ';'}, `a.csv: line 2: the row has 3 columns and the header 4`},
		// A quote that is not closed: to the end of the file, to the next quote, and
		// to one that closes it elsewhere.
		{head + "1,u,1,1,0.5,\"3\n" + "1,u,0,,,4\n", logged.Format{}, `a.csv: line 2: a quote that begins a field of this row is not closed where a field ends in what follows, down to line 3;`},
		{head + good + "2,\"u,1,1,0.5,3\n2,\"u\",0,,,4\n", logged.Format{}, `a.csv: line 4: a quote that begins a field of this row is not closed where a field ends in what follows, down to line 5;`},
		{head + "1,\"u,1,1,0.5,3\n1,u\",0,,,4\n", logged.Format{}, `a.csv: line 2: column "user": the user has the name "u,1,1,0.5,3\n1,u", which is no line of UTF-8: is the quote before it closed?`},
		{head + "1,\"u,1,1,0.5,3\n1,u\",0,,4\n", logged.Format{}, `a.csv: line 2: the row has 5 columns and the header 6; a quoted field of it goes on to line 3, whose closing quote may be missing`},
		{head + "1,\"u\"x,1,1,0.5,3\n", logged.Format{}, `a.csv: line 2: a quote that begins a field of this row is not closed where a field ends; a quote within a quoted field is written twice`},
		{head + good + "a\"b,u,1,1,0.5,3\n", logged.Format{}, `a.csv: line 4: a quote in a field that does not begin with one: quote the whole field and write that quote twice` + "\n"},
		{head + ",u,1,1,0.5,3\n", logged.Format{}, `a.csv: line 2: column "decision": the decision has no name`},
		{head + "1,,1,1,0.5,3\n", logged.Format{}, `a.csv: line 2: column "user": the user has no name`},
		{head + "1,\xff,1,1,0.5,3\n", logged.Format{}, `a.csv: line 2: column "user": the user has the name "\xff"`},
		{head + "1,u,1,1,0.5,3\n1,v,0,,,4\n", logged.Format{}, `a.csv: line 3: column "user": decision "1" is of user "u" and of "v"`},
		{head + "1,u,yes,1,0.5,3\n", logged.Format{}, `a.csv: line 2: column "chosen": "yes", want 1`},
		{head + "1,u,1,1,0.5,3\n1,u,1,1,0.5,3\n", logged.Format{}, `a.csv: line 3: column "chosen": decision "1" has a second choice`},
		{head + good + "2,u,0,,,3\n2,u,0,,,4\n" + "3,u,1,1,1,3\n", logged.Format{}, `a.csv: line 4: column "chosen": decision "2" has no choice`},
		{head + good + "2,u,0,,,3\n2,u,0,,,4\n", logged.Format{}, `a.csv: line 4: column "chosen": decision "2" has no choice`},
		{head + "1,u,1,,0.5,3\n", logged.Format{}, `a.csv: line 2: column "reward": the chosen candidate has no reward`},
		{head + "1,u,1,good,0.5,3\n", logged.Format{}, `a.csv: line 2: column "reward": "good" is not a finite number`},
		{head + "1,u,1,NaN,0.5,3\n", logged.Format{}, `a.csv: line 2: column "reward": "NaN" is not a finite number` + "\n"},
		{head + "1,u,1,1e39,0.5,3\n", logged.Format{}, `a.csv: line 2: column "reward": 1e+39 is too large`},
		{head + "1,u,0,1,,3\n", logged.Format{}, `a.csv: line 2: column "reward": 1 for a candidate that was not chosen`},
		{head + "1,u,1,1,,3\n", logged.Format{}, `a.csv: line 2: column "propensity": the chosen candidate needs the probability`},
		{head + "1,u,1,1,0,3\n", logged.Format{}, `a.csv: line 2: column "propensity": the chosen candidate needs the probability`},
		{head + "1,u,1,1,1.5,3\n", logged.Format{}, `a.csv: line 2: column "propensity": 1.5 is no probability`},
		{head + "1,u,1,1,0.5,3\n1,u,0,,-1,3\n", logged.Format{}, `a.csv: line 3: column "propensity": -1 is no probability`},
		{head + "1,u,1,1,0.5,3\n1,u,0,,0.4,3\n", logged.Format{}, `a.csv: line 2: column "propensity": the propensities of decision "1" sum to 0.9`},
		{head + "1,u,1,1,0.7,3\n1,u,0,,0.7,3\n1,u,0,,,3\n", logged.Format{}, `a.csv: line 2: column "propensity": the propensities of decision "1" sum to 1.4`},
		{head + "1,u,1,1,0.5,\n", logged.Format{}, `a.csv: line 2: column "a": a candidate without a value`},
		{head + "1,u,1,1,0.5,red\n", logged.Format{}, `a.csv: line 2: column "a": "red" is not a finite number` + "\n"},
		{head + "1,u,1,1,0.5,-Inf\n", logged.Format{}, `a.csv: line 2: column "a": "-Inf" is not a finite number` + "\n"},
		{head + "1,u,1,1,0.5,1e999\n", logged.Format{}, `a.csv: line 2: column "a": "1e999" is not a finite number` + "\n"},
		{head + "1,u,1,1,0.5,\"1,000,5\"\n", logged.Format{}, `a.csv: line 2: column "a": "1,000,5" is not a finite number` + "\n"},
		{head + "1,u,1,1,0.5,4e38\n", logged.Format{}, `a.csv: line 2: column "a": 4e+38 is too large`},
		{head + "1,u,1,1,0.5,3\n2,u,1,1,0.5,3\n", logged.Format{}, `a.csv: line 2: column "decision": decision "1" has 1 candidate`},
		{head + good + "2,u,1,1,0.5,3\n2,u,0,,,3\n2,u,0,,,3\n", logged.Format{}, `a.csv: line 4: column "decision": decision "2" has 3 candidates, the first one has 2`},
		{head + good + "2,u,1,1,0.5,3\n2,u,0,,,3\n" + good, logged.Format{}, `a.csv: line 6: column "decision": decision "1" is also in lines 2 to 3, with others between: all rows of a decision must stand together`},
		// Rows that are not together are what is wrong, though a decision seems too
		// short before that is seen; where they are together, it is too short.
		{head + "1,u,1,1,0.5,3\n2,u,1,1,0.5,3\n1,u,0,,,4\n2,u,0,,,4\n", logged.Format{}, `a.csv: line 4: column "decision": decision "1" is also in line 2, with others between`},
		{head + good + "2,u,1,1,0.5,3\n3,u,1,1,0.5,3\n3,u,0,,,4\n2,u,0,,,4\n", logged.Format{}, `a.csv: line 7: column "decision": decision "2" is also in line 4, with others between`},
		{head + good + "2,u,1,1,0.5,3\n2,u,0,,,3\n2,u,0,,,3\n1,u,0,,,4\n", logged.Format{}, `a.csv: line 7: column "decision": decision "1" is also in lines 2 to 3, with others between`},
		{head + good + "2,u,1,1,0.5,3\n2,u,0,,,3\n2,u,0,,,3\n3,u,1,1,0.5,3\n1,u,0,,,4\n", logged.Format{}, `a.csv: line 8: column "decision": decision "1" is also in lines 2 to 3, with others between`},
		{head + good + "2,u,1,1,0.5,3\n3,u,1,1,0.5,3\n3,u,0\n3,\"u\n", logged.Format{}, `a.csv: line 4: column "decision": decision "2" has 1 candidate, want at least 2`},
	} {
		_, err := logged.Read(strings.NewReader(test.text), "a.csv", test.format)
		if err == nil || !strings.HasPrefix(err.Error()+"\n", "logged: "+test.want) {
			t.Errorf("%q: the error is %v, want %s", test.text, err, test.want)
		}
		var where *logged.FileError
		if !errors.As(err, &where) || where.File != "a.csv" {
			t.Errorf("%q: the error %v is no FileError of a.csv", test.text, err)
		}
	}
}

func TestReadFile(t *testing.T) {
	folder := t.TempDir()
	if _, err := logged.ReadFile(filepath.Join(folder, "none.csv"), logged.Format{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a missing file: %v", err)
	}
	path := filepath.Join(folder, "my log.csv")
	if err := os.WriteFile(path, []byte("decision,chosen,reward,a\n1,1,1,0\n1,0,,x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	// The name is that of the file, without its folder.
	_, err := logged.ReadFile(path, logged.Format{})
	if want := `logged: my log.csv: line 3: column "a": "x" is not a finite number`; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if _, err := logged.ReadFile(folder, logged.Format{}); err == nil {
		t.Error("no error of a folder")
	}
}

func TestWriteErrors(t *testing.T) {
	good := func() *logged.Log {
		return &logged.Log{Candidates: 2, Dim: 1, Features: []string{"a"}, ID: []string{"1", "2"}, Contexts: []float32{1, 2, 3, 4}, Chosen: []int{0, 1}, Reward: []float32{1, 2}}
	}
	for want, spoil := range map[string]func(*logged.Log){
		"feature 0 has no name":                                        func(l *logged.Log) { l.Features[0] = "" },
		`feature 0 has the name of another column, "user"`:             func(l *logged.Log) { l.Features[0] = "user" },
		`decision 1 has the name of another one, "1"`:                  func(l *logged.Log) { l.ID[1] = "1" },
		`decision 0 has the name " x", with blanks around it`:          func(l *logged.Log) { l.ID[0] = " x" },
		`the user of decision 0 has the name "a\nb", which is no line`: func(l *logged.Log) { l.User = []string{"a\nb", "c"} },
		`decision "2": candidate 2 of 2`:                               func(l *logged.Log) { l.Chosen[1] = 2 },
		"2 names for 1 features":                                       func(l *logged.Log) { l.Features = []string{"a", "b"} },
		"Spec.Candidates is 1":                                         func(l *logged.Log) { l.Candidates = 1 },
		"2 choices, 1 names":                                           func(l *logged.Log) { l.ID = l.ID[:1] },
		"3 context values for 2 decisions":                             func(l *logged.Log) { l.Contexts = l.Contexts[:3] },
		`decision "2": the reward is +Inf`:                             func(l *logged.Log) { l.Reward[1] /= 0 * l.Reward[0] },
		`decision "1": the propensity is 0`:                            func(l *logged.Log) { l.Propensity = []float64{0, 1} },
		`decision "2": feature "a" of candidate 0 is +Inf`:             func(l *logged.Log) { l.Contexts[2] /= 0 * l.Contexts[0] },
	} {
		l := good()
		if err := l.Write(&bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		spoil(l)
		if err := l.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	var written bytes.Buffer // what Read would refuse
	if err := good().Slice(0, 0).Write(&written); err == nil || !strings.Contains(err.Error(), "the log has no decisions") || written.Len() > 0 {
		t.Errorf("of no decisions %q is written: %v", &written, err)
	}
	if err := good().Write(full{}); !errors.Is(err, errFull) {
		t.Errorf("into a full disk: %v", err)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// Whatever a file holds, reading ends in a log that is sound and can be written
// and read again, or in an error that names the file.
func FuzzRead(f *testing.F) {
	f.Add("decision,user,chosen,reward,propensity,a,b\n1,u,1,1,0.5,3,4\n1,u,0,,0.5,4,5\n", false)
	f.Add("decision,chosen,reward,a\n1,1,-1e-40,3\n1,0,0,\"4\"\n2,0,,1\n2,1,7,-0\n", true)
	f.Add("\ufeffdecision;chosen", false)
	f.Add("decision,chosen,reward,a\r\n\"x\ny\",1,0x1p-2,3\r\n", true)
	f.Fuzz(func(t *testing.T, text string, uniform bool) {
		log, err := logged.Read(strings.NewReader(text), "a.csv", logged.Format{Uniform: uniform})
		if err != nil {
			var where *logged.FileError
			if !errors.As(err, &where) || where.File != "a.csv" {
				t.Fatalf("%v is no FileError of a.csv", err)
			}
			return
		}
		if err := log.Check(); err != nil {
			t.Fatal(err)
		}
		var written bytes.Buffer
		if err := log.Write(&written); err != nil {
			t.Fatal(err)
		}
		again, err := logged.Read(&written, "b.csv", logged.Format{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, log) {
			t.Fatalf("read %+v, written and read %+v", log, again)
		}
	})
}
