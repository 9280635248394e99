package paper_test

import (
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

// What the experiments declare is what had the least mean regret in the tuning
// studies, whose table is published.
func TestTunedIsBestOfStudies(t *testing.T) {
	file, err := os.Open("../published/tuning.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	regrets := map[string]float64{} // by "study/setting"
	for _, row := range rows[1:] {
		if regrets[row[0]+"/"+row[1]], err = strconv.ParseFloat(row[2], 64); err != nil {
			t.Fatal(err)
		}
	}
	experiments := map[reflect.Type]sim.Experiment{}
	for _, e := range []sim.Experiment{paper.Linear(), paper.Bernoulli(), paper.Mixed()} {
		experiments[reflect.TypeOf(e.Problem)] = e
	}

	for _, study := range paper.Tuning() {
		e, ok := experiments[reflect.TypeOf(study.Problem)]
		if !ok {
			continue
		}
		best, least := map[string]sim.Contender{}, map[string]float64{} // by contender
		for _, c := range study.Contenders {
			regret, ok := regrets[study.Name+"/"+c.Name]
			if !ok {
				t.Errorf("%s: no result of %q is published", study.Name, c.Name)
				continue
			}
			name, _, _ := strings.Cut(c.Name, ",")
			if old, ok := least[name]; !ok || regret < old {
				best[name], least[name] = c, regret
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
