package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// From a file to a policy, a table and a figure; and what is wrong with a file or a policy.
func TestLogs(t *testing.T) {
	out := t.TempDir()
	policy, other := filepath.Join(out, "policy"), filepath.Join(out, "other.csv")
	log := filepath.Join("..", "..", "own-data.csv")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	named := strings.ReplaceAll(strings.Replace(string(text), "length", "mood", 1), ",0.5\n", ",0.6\n")
	if err := os.WriteFile(other, []byte(named), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"train", log, "-algorithm", "lin-ucb", "-policy", policy, "-estimate-propensities"}, 0,
			fmt.Sprintf("next: %s evaluate ANOTHER-LOG -policy %q -crossed=false -estimate-propensities=true", self, policy)},
		{[]string{"evaluate", log, "-policy", policy}, 0, "SNIPW"},
		{[]string{"evaluate", log, "-policy", policy}, 0, "The importance weights, probability by propensity, have the mean"},
		{[]string{"evaluate", log, "-policy", policy, "-columns", `{"Uniform":true}`}, 0, "warning: the mean weight is"},
		{[]string{"evaluate", log, "-policy", policy, "-estimate-propensities"}, 0, "warning: the propensities are estimated"},
		{[]string{"evaluate", other, "-policy", policy}, 1, `the log has the features ["match" "fresh" "mood"], and the policy ["match" "fresh" "length"]`},
		{[]string{"evaluate", log, "-policy", log}, 1, "is no saved policy"},
		{[]string{"evaluate", log, "-policy", policy, "-columns", "price"}, 1, "-columns is price"},
		{[]string{"train", log, "-algorithm", "lin-ucb", "-objective", "dr", "-policy", policy}, 1, "has no Improve"},
		{[]string{"train", log, "-algorithm", "magic"}, 1, `-algorithm is "magic"`},
		{[]string{"train", log, "-objective", "dr", "-algorithm", "softmax", "-policy", policy}, 0, "sub-Gaussian DR"},
		{[]string{"evaluate", log, "-policy", policy}, 0, "sub-Gaussian DR"},
		{[]string{"evaluate"}, 2, "accepts 1 arg"},
	} {
		status, stdout, stderr := typed(t.Context(), append(c.args, "-out", out)...)
		if status != c.status || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("paper %v: status %d\n%s%s\nwant %d and %q", c.args, status, stdout, stderr, c.status, c.want)
		}
	}
	for _, name := range []string{"train.png", "evaluate.png"} {
		if info, err := os.Stat(filepath.Join(out, "figures", name)); err != nil || info.Size() == 0 {
			t.Errorf("there is no figure: %v", err)
		}
	}
}
