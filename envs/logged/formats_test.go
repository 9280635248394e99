package logged_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/logged"
)

// write writes files, given by name and text, to a new folder, and returns that of the first.
func write(t *testing.T, files ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "shoes")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(folder, files[i]), []byte(files[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// Files of other programs, what they say, and what is wrong with them. Where a file is cut, its last
// record is left out.
func TestFormats(t *testing.T) {
	const events = `{"_label_cost":-2,"_label_probability":0.75,"_label_Action":2,"_labelIndex":1,"EventId":"e1","a":[2,1],"p":[0.75,0.25],` +
		`"c":{"User":{"id":"ann","_x":9},"_multi":[{"I":{"price":2.5}},{"I":{"price":0,"tags":["a",3]}}]}}` + "\n" +
		`{"RewardValue":1,"EventId":"e1"}` + "\n\n" +
		`{"_label_cost":0,"_label_probability":1,"_label_Action":1,"_labelIndex":0,"EventId":"e2","pdrop":0.5,"c":{"_multi":[{"I":{"new":true}}]}}` + "\n"
	const items = ",item_id,item_feature_0,item_feature_1\n0,0,-0.5,x\n1,1,0.25,y\n"
	const shown = ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1\n" +
		"7,2019-11-24,1,3,1,0.5,u,0.0,2.0\n8,2019-11-25,0,1,0,0.25,v,1.0,0.0\n"
	const table = "decision,chosen,reward,propensity,sampling_weight,x,colour\n1,0,,,,2,red\n1,1,1,.5,4,0,blue\n"
	csv := func(text string) []string { return []string{"a.csv", text} }
	json := func(text string) []string { return []string{"a.dsjson", text} }
	obd := func(items, shown string) []string {
		return []string{"", "", "item_context.csv", items, "shoes.csv", shown}
	}
	byName := logged.Format{Categories: []string{"colour"}}
	for _, c := range []struct {
		files []string
		f     logged.Format
		want  string // or of the error
	}{
		{csv(table), byName, "[colour=blue colour=red x] 2 [{1  [0 1 2 1 0 0] 1 1 0.5 4}] []"},
		{csv(table), logged.Format{Categories: []string{"colour"}, Hash: 2}, "[hash 0 hash 1] 2 [{1  [0 3 1 0] 1 1 0.5 4}] []"},
		{csv(table), logged.Format{Categories: []string{"colour"}, Hash: -1}, "Format.Hash is -1, want 0 to 1048576"},
		{obd(items, shown), logged.Format{Hash: 1 << 32}, "Format.Hash is 4294967296, want 0 to"},
		{csv(table), logged.Format{Hash: 1 << 40}, "Format.Hash is 1099511627776, want 0 to"}, // at once
		{csv(table), logged.Format{Categories: []string{"size"}}, `a.csv: there is no column "size" for this`},
		{csv(table[:strings.Index(table, "4")] + "-4,0,blue\n"), byName, `a.csv: the last decision is left out: line 3, column "sampling_weight": "-4" is not a number from 1e-9 to 1e9`},
		{csv(table + "2,1\n,,,\n\n , \n"), byName, "[the last decision is left out: line 4 has 2 columns"},
		{json(events), logged.Format{}, "[I.new=true I.price I.tags.0=a I.tags.1 User.id=ann] 2 [{e1  [0 2.5 0 0 1 0 0 1 3 1] 1 2 0.75 1} {e2  [1 0 0 0 0] 0 0 1 2}] [1 events without"},
		{json(events + events[:50]), logged.Format{}, "[the last decision is left out: line 5: unexpected end of JSON input"},
		{json(events + events[:50] + "\n\n \n"), logged.Format{}, "[the last decision is left out: line 5: invalid character"},
		{json(strings.ReplaceAll(events, "_label_probability", "p")), logged.Format{Uniform: true}, "1 2 0.5 1} {e2  [1 0 0 0 0] 0 0 1 2}]"},
		{json(events[:50] + "\n" + events), logged.Format{}, "a.dsjson: line 1: invalid character"},
		{json(events + events), logged.Format{}, `a.dsjson: line 5, column "EventId": "e1" is also in line 1`},
		{json(strings.Replace(events, "0.75", "0", 1)), logged.Format{}, `a.dsjson: line 1, column "_label_probability": "0" is not a probability`},
		{json(strings.Replace(events, `Index":1`, `Index":2`, 1)), logged.Format{}, `a.dsjson: line 1, column "_labelIndex": "2" is not a whole number from 0 to 1`},
		{json(strings.Replace(events, `-2`, `"two"`, 1)), logged.Format{}, `"_label_cost": "two" is not a finite number`},
		{json(strings.Replace(events, `"_labelIndex":1`, `"_label":1`, 1)), logged.Format{}, `line 1, column "_labelIndex": it is missing`},
		{json(strings.Replace(events, `Index":1`, `Index":0.5`, 1)), logged.Format{}, `"_labelIndex": "0.5" is not a whole number`},
		{json(strings.Replace(events, `"pdrop":0.5`, `"pdrop":1`, 1) + "{}\n"), logged.Format{}, `line 4, column "pdrop": "1" is not a share from 0 to`},
		{json(strings.ReplaceAll(events, "EventId", "EventID")), logged.Format{}, "[{line 1  [0 2.5"},
		{json(strings.Replace(events, "_label_cost", "_Label_Cost", 1)), logged.Format{}, "[2 events without"},
		{json("\ufeff" + events), logged.Format{}, "[{e1  [0 2.5"},
		{json("\xff\xfe{\x00"), logged.Format{}, "a.dsjson: it is UTF-16, want UTF-8"},
		{json("{}\n"), logged.Format{}, "a.dsjson: 1 events without"},
		{json(`{"_label_cost":-1,"_label_probability":0.5,"_labelIndex":0,"EventId":"e","c":{"_multi":[{},{}]}}` + "\n"), logged.Format{}, "logged: a.dsjson: there are no decisions with features"},
		{json(strings.Replace(events, "-2", "-16777217", 1)), logged.Format{}, `1 numbers of column "_label_cost" have more digits`},
		{csv("decision,chosen,reward,x\n1,1,1,9007199254740993\n1,0,,2\n"), logged.Format{}, `1 numbers of column "x" have more digits`},
		{csv(table[:strings.Index(table, "4")] + "1e308,0,blue\n"), byName, `"1e308" is not a number from 1e-9 to 1e9`},
		{obd(items, shown), logged.Format{}, "[item_feature_0 item_feature_1=x item_feature_1=y item_id=0 item_id=1 position=1 position=3 user-item_affinity user_feature_0=u user_feature_0=v] 2 " +
			"[{7  [-0.5 1 0 1 0 0 1 0 1 0 0.25 0 1 0 1 0 1 2 1 0] 1 1 0.5 0} {8  [-0.5 1 0 1 0 1 0 1 0 1 0.25 0 1 0 1 1 0 0 0 1] 0 0 0.25 0}] []"},
		{obd(items+"2,2,0.", shown), logged.Format{}, `[the last item of item_context.csv is left out: line 4 has 3 columns`},
		{obd(items+"2,1,0.5,z\n\n", shown), logged.Format{}, `[the last item of item_context.csv is left out: line 4, column "item_id"`},
		{obd(items+"2,2,0.5,z", shown), logged.Format{}, `[no newline is behind the last item of item_context.csv`},
		{obd(items+"2,2\n3,3,0.5,z\n", shown), logged.Format{}, `item_context.csv: line 4 has 2 columns`},
		{obd(items, strings.Replace(shown, "1,0.5,u", "1,0,u", 1)), logged.Format{Uniform: true}, "1 1 0.5 0} {8  [-0.5 1 0 1 0 1 0 1 0 1 0.25 0 1 0 1 1 0 0 0 1] 0 0 0.5 0}] []"},
		{obd(items, shown+"9,2019-11-25,0,1,0,0.2"), logged.Format{}, `[the last decision is left out: line 4 has 6 columns`},
		{obd(items, strings.Replace(shown, "24,1,3", "24,2,3", 1)), logged.Format{}, `shoes.csv: line 2, column "item_id": "2" is not a whole number from 0 to 1`},
		{obd(items, strings.Replace(shown, "24,1,3", "24,0.5,3", 1)), logged.Format{}, `shoes.csv: line 2, column "item_id": "0.5" is not a whole number`},
		{obd(strings.Replace(items, "0,0,-", "0,1,-", 1), shown), logged.Format{}, `item_context.csv: line 2, column "item_id": "1" is not a whole number from 0 to 0`},
		{obd(strings.Replace(items, "item_id", "id", 1), shown), logged.Format{}, `column "item_id": it is missing`},
		{obd(items, shown[:strings.Index(shown, "\n")+1]), logged.Format{}, "shoes.csv: there are no decisions"},
	} {
		path := write(t, slices.DeleteFunc(slices.Clone(c.files), func(s string) bool { return s == "" })...)
		if len(c.files) == 2 {
			path = filepath.Join(path, c.files[0])
		}
		log, err := logged.ReadFile(path, c.f)
		got := fmt.Sprint(err)
		if err == nil {
			var decisions []string
			for _, d := range log.Decisions {
				decisions = append(decisions, fmt.Sprint("{", d.ID, " ", d.User, " ", log.Contexts(d), " ", d.Chosen, " ", d.Reward, " ", d.Propensity, " ", d.SamplingWeight, "}"))
			}
			got = fmt.Sprint(log.Features, " ", log.Candidates, " ", decisions, " ", unchecked(log))
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: got %s, want %s", c.files, got, c.want)
		}
	}
}

// A decision with the sampling weight 3 is three of them.
func TestSamplingWeights(t *testing.T) {
	log := table([]float64{1, 0, 3, 2}, []float64{0.5, 0.25, 0.25, 1}, "")
	three := *log
	three.Decisions = slices.Clone(log.Decisions)
	three.Decisions[2].SamplingWeight = 3
	log.Decisions = append(log.Decisions, log.Decisions[2], log.Decisions[2])
	for _, k := range []logged.Estimator{logged.IPW, logged.SNIPW, logged.DR, logged.SNDR, logged.ClippedIPW.With(2)} {
		var got [2]float64
		for i, l := range []*logged.Log{log, &three} {
			e := evaluate(t, l, &fixed{p: []float64{0.75, 0.25}}, 1)
			for _, d := range l.Decisions {
				e.Model = append(e.Model, []float64{float64(d.Reward) / 2, 1})
			}
			got[i] = e.Estimate(k).Mean
		}
		near(t, k.Name, got[1], got[0])
	}
	near(t, "the log's mean", three.Mean().Mean, log.Mean().Mean)
}
