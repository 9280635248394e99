package paper_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// What the experiments declare is what had the least mean regret, or the highest
// mean reward, in the tuning studies, whose tables are published.
func TestTunedIsBestOfStudies(t *testing.T) {
	losses := map[string]float64{} // by "study/setting"
	read := func(file string, sign float64) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			x, err := strconv.ParseFloat(row[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			losses[row[0]+"/"+row[1]] = sign * x
		}
	}
	read("../published/tuning.csv", 1)        // regret
	read("../published/tuning-music.csv", -1) // reward
	experiments := map[reflect.Type]sim.Experiment{}
	for _, e := range []sim.Experiment{paper.Linear(), paper.Bernoulli(), paper.Mixed(), paper.MusicStateless(), paper.MusicState()} {
		experiments[reflect.TypeOf(e.Problem)] = e
	}

	for _, study := range paper.Tuning() {
		e, ok := experiments[reflect.TypeOf(study.Problem)]
		if !ok {
			continue
		}
		best, least := map[string]sim.Contender{}, map[string]float64{} // by contender
		for _, c := range study.Contenders {
			loss, ok := losses[study.Name+"/"+c.Name]
			if !ok {
				t.Errorf("%s: no result of %q is published", study.Name, c.Name)
				continue
			}
			name, _, _ := strings.Cut(c.Name, ",")
			if old, ok := least[name]; !ok || loss < old {
				best[name], least[name] = c, loss
			}
		}
		for name, c := range best {
			if got, want := declarationOf(t, algorithmOf(t, e, name)), declarationOf(t, c.Algorithm); got != want {
				t.Errorf("%s: %s is declared as %s, the best of %s is %s", e.Name, name, got, study.Name, want)
			}
		}
	}
}

func algorithmOf(t *testing.T, e sim.Experiment, name string) envs.Algorithm {
	t.Helper()
	for _, c := range e.Contenders {
		if c.Name == name {
			return c.Algorithm
		}
	}
	t.Fatalf("%s has no contender %q", e.Name, name)
	return nil
}

func declarationOf(t *testing.T, a envs.Algorithm) string {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return reflect.TypeOf(a).String() + string(text)
}
