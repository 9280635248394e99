package logged_test

import (
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
	return log
}

// Two decisions of different sizes, in a file that other programs have touched: a byte order mark,
// blanks, quotes, line ends of Windows and empty records.
func TestRead(t *testing.T) {
	const text = "\ufeffdecision, user ,chosen,reward,propensity,a,\"b\"\r\n" +
		"x,me,0,,,1,2\r\n" + "x,me,1, -1.5 ,0.25,3,\"4\"\r\n" + ",,,,,,\r\n\r\n" +
		"y,you,1,1,0.5,5,6\r\n" + "y,you,0,9,none,7,8\r\n" + "y,you,0,,,9,1e1\r\n"
	want := &logged.Log{
		Features: []string{"a", "b"}, Candidates: 3,
		Decisions: []logged.Decision{
			{ID: "x", User: "me", Contexts: []float32{1, 2, 3, 4}, Chosen: 1, Reward: -1.5, Propensity: 0.25},
			{ID: "y", User: "you", Contexts: []float32{5, 6, 7, 8, 9, 10}, Chosen: 0, Reward: 1, Propensity: 0.5},
		},
		Warnings: []string{"1 empty records are skipped"},
	}
	if got := read(t, text, logged.Format{}); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}

	// Other names, another separator, a choice of the features, and columns that nobody reads.
	const other = "id;who;shown;paid;p;a;b;remark\n1;me;1;2;x;3;4;red\n1;me;0;;;5;6;\n"
	f := logged.Format{Decision: "id", User: "who", Chosen: "shown", Reward: "paid", Uniform: true, Features: []string{"b"}, Comma: ';'}
	want = &logged.Log{Features: []string{"b"}, Candidates: 2, Decisions: []logged.Decision{
		{ID: "1", User: "me", Contexts: []float32{4, 6}, Reward: 2, Propensity: 0.5}}}
	if got := read(t, other, f); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// A file that is still being written ends anywhere: the last decision is left out.
func TestReadIncomplete(t *testing.T) {
	const head, whole = "decision,chosen,reward,propensity,a\n", "1,1,1,0.5,3\n1,0,,,4\n"
	for _, rest := range []string{"22,0,,,4\n", "22,0,,,4\n22,1,1,0", "22,1,1,0.5,4\n22,0,", "22,1,1,0.5,3\n2"} {
		log := read(t, head+whole+rest, logged.Format{})
		warnings := []string{`the last decision, "22", is incomplete and left out`}
		if len(log.Decisions) != 1 || !reflect.DeepEqual(log.Warnings, warnings) {
			t.Errorf("%q: %d decisions, warnings %q", rest, len(log.Decisions), log.Warnings)
		}
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
		{head, logged.Format{}, "there are no complete decisions"},
		{head + "1,u,0,,,4\n", logged.Format{}, `there are no complete decisions; the last decision, "1", is incomplete and left out`},
		{"decision;chosen;a\n", logged.Format{}, `there is no column "decision": with ',' between columns, they are ["decision;chosen;a"]`},
		{head, logged.Format{User: "who"}, `there is no column "who"`},
		{head, logged.Format{Features: []string{"a", "a"}}, `column "a" has two purposes or stands twice`},
		{"decision,chosen,reward,a,a\n", logged.Format{}, `column "a" has two purposes or stands twice`},
		{"decision,chosen,reward\n", logged.Format{}, `no column has features: they are ["decision" "chosen" "reward"]`},
		{head + "1,u,1,1,0.5\n" + good, logged.Format{}, `line 2: the record ["1" "u" "1" "1" "0.5"] has 5 columns, the header has 6`},
		{head + good + "2,u,1,1,0.5,3,4\n", logged.Format{}, `line 4: the record ["2" "u" "1" "1" "0.5" "3" "4"] has 7 columns`},
		{head + "1,u\"v,1,1,0.5,3\n", logged.Format{}, `parse error on line 2, column 4: bare " in non-quoted`},
		{head + "1,u,1,1,0.5,3\n1,v,0,,,4\n", logged.Format{}, `line 3, column "user": "v", the first row of decision "1" has "u"`},
		{head + "1,u,yes,1,0.5,3\n", logged.Format{}, `line 2, column "chosen": "yes", want 1 for one`},
		{head + "1,u,1,1,0.5,3\n1,u,1,1,0.5,3\n", logged.Format{}, `line 3, column "chosen": "1", want 1 for one`},
		{head + good + "2,u,0,,,3\n2,u,0,,,4\n" + "3,u,1,1,1,3\n", logged.Format{}, `line 4, column "chosen": decision "2" has no choice`},
		{head + "1,u,1,,0.5,3\n", logged.Format{}, `line 2, column "reward": "" is not a finite number`},
		{head + "1,u,1,NaN,0.5,3\n", logged.Format{}, `line 2, column "reward": "NaN" is not a finite number`},
		{head + "1,u,1,1,,3\n", logged.Format{}, `line 2, column "propensity": "" is not a probability from 1e-6 to 1`},
		{head + good + "\n2,u,1,1,1e-9,3\n", logged.Format{}, `line 5, column "propensity": "1e-9" is not a probability from 1e-6 to 1`},
		{head + "1,u,1,1,1.5,3\n", logged.Format{}, `line 2, column "propensity": "1.5" is not a probability from 1e-6 to 1`},
		{head + good + "2,u,1,1,0.5,\n", logged.Format{}, `line 4, column "a": "" is not a finite number`},
		{head + "1,u,1,1,0.5,1e39\n", logged.Format{}, `line 2, column "a": "1e39" is not a finite number`},
		{head + good + "2,u,1,1,0.5,3\n" + good, logged.Format{}, `line 5, column "decision": "1" is also in line 2, with others between`},
	} {
		_, err := logged.Read(strings.NewReader(test.text), "a.csv", test.format)
		if err == nil || !strings.HasPrefix(err.Error(), "logged: a.csv: "+test.want) {
			t.Errorf("%q: the error is %v, want %s", test.text, err, test.want)
		}
	}
	if _, err := logged.ReadFile("none.csv", logged.Format{}); err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("of a missing file: %v", err)
	}
}
