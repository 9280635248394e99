package logged

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// candidates makes a decision of the rows of its candidates.
func (t *table) candidates(rows []record) (Decision, error) {
	d := Decision{ID: strings.Clone(t.field(rows[0], t.Decision)), Chosen: -1}
	if t.User != "" {
		d.User = strings.Clone(t.field(rows[0], t.User))
	}
	for i, row := range rows {
		chosen := t.field(row, t.Chosen)
		switch {
		case t.User != "" && t.field(row, t.User) != d.User:
			return d, t.wrong(row, t.User, "%q, the first row of decision %q has %q", t.field(row, t.User), d.ID, d.User)
		case chosen != "0" && chosen != "1" || chosen == "1" && d.Chosen >= 0:
			return d, t.wrong(row, t.Chosen, "%q, want 1 for one candidate of a decision and 0 for the others", chosen)
		case chosen == "1":
			d.Chosen, d.Reward = i, t.float32(row, t.Reward)
			if t.Uniform || t.Propensity != "" {
				d.Propensity = t.probability(row, t.Propensity, len(rows))
			}
			if t.SamplingWeight != "" {
				d.SamplingWeight = t.number(row, t.SamplingWeight, leastSampling, mostSampling, "a number from 1e-9 to 1e9")
			}
		default:
			if x, err := strconv.ParseFloat(t.field(row, t.Reward), 64); err == nil && x != 0 {
				t.counts["candidates that were not chosen have rewards: these are not read"]++
			}
		}
		for _, name := range t.Features {
			switch {
			case len(t.Categories) == 0:
				d.Contexts = append(d.Contexts, t.float32(row, name))
			case slices.Contains(t.Categories, name):
				d.values = append(d.values, value{int32(i), t.at(name + "=" + t.field(row, name)), 1})
			default:
				d.values = append(d.values, value{int32(i), t.at(name), t.float32(row, name)})
			}
		}
	}
	if d.Contexts == nil {
		d.size = len(rows)
	}
	if d.Chosen < 0 {
		t.wrong(rows[0], t.Chosen, "decision %q has no choice", d.ID)
	}
	return d, t.err
}

// catalogue reads item_context.csv in the folder of a campaign of the Open Bandit Dataset, and returns
// the path of the file with the folder's name, which has a decision a record. Else the path is that of a file.
func (t *table) catalogue(folder string) (string, error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return folder, nil
	}
	path, err := filepath.Abs(folder)
	items, err2 := os.Open(filepath.Join(path, "item_context.csv"))
	if err := cmp.Or(err, err2); err != nil {
		return "", err
	}
	defer items.Close()
	t.single, t.parse, t.what = true, (*table).item, "item of item_context.csv"
	if err := t.read(items); err != nil {
		return "", fmt.Errorf("item_context.csv: %w", err)
	}
	t.parse, t.what = (*table).shown, "decision"
	return filepath.Join(path, filepath.Base(path)+".csv"), nil
}

// item adds an item to the catalogue. It is a category, too.
func (t *table) item(rows []record) (none Decision, _ error) {
	var values []value
	row, c := rows[0], t.whole(rows[0], "item_id", t.log.Candidates, t.log.Candidates)
	for _, name := range t.header {
		if name == "item_feature_0" {
			values = append(values, value{int32(c), t.at(name), t.float32(row, name)})
		} else if strings.HasPrefix(name, "item_") {
			values = append(values, value{int32(c), t.at(name + "=" + t.field(row, name)), 1})
		}
	}
	if t.err == nil {
		t.log.Candidates, t.log.items = c+1, append(t.log.items, values...)
	}
	return none, t.err
}

// shown reads a decision among the items of the catalogue.
func (t *table) shown(rows []record) (Decision, error) {
	row, items := rows[0], t.log.Candidates
	d := Decision{ID: strings.Clone(row.fields[0]), size: items, Reward: t.float32(row, "click")}
	d.Propensity = t.probability(row, "propensity_score", items)
	d.Chosen = t.whole(row, "item_id", 0, items-1)
	for _, name := range t.header {
		id, affinity := strings.CutPrefix(name, "user-item_affinity_")
		if item, err := strconv.Atoi(id); affinity && err == nil && item < items {
			if x := t.float32(row, name); x != 0 {
				d.values = append(d.values, value{int32(item), t.at("user-item_affinity"), x})
			}
		} else if name == "position" || strings.HasPrefix(name, "user_feature_") {
			d.values = append(d.values, value{-1, t.at(name + "=" + t.field(row, name)), 1})
		}
	}
	return d, t.err
}

// event makes a decision of a line of dsjson, Vowpal Wabbit's log, without candidates where it is not one.
func (t *table) event(rows []record) (d Decision, _ error) {
	row := rows[0]
	// A struct would take keys in any case. pdrop is the share of such events that are not in the file.
	e := map[string]any{"EventId": fmt.Sprint("line ", row.line), "pdrop": 0.0}
	if err := json.Unmarshal([]byte(row.fields[0]), &e); err != nil {
		return d, fmt.Errorf("line %d: %w", row.line, err)
	}
	context, _ := e["c"].(map[string]any)
	sets, _ := context["_multi"].([]any)
	if len(sets) == 0 || e["_label_cost"] == nil || e["_skipLearn"] == true {
		t.counts["events without candidates (_multi) or reward (_label_cost), or not to be learned, are left out"]++
		return d, nil
	}
	t.column, row.fields = map[string]int{}, nil // as of CSV
	for _, key := range []string{"EventId", "_label_cost", "_label_probability", "_labelIndex", "pdrop"} {
		if e[key] != nil {
			t.column[key], row.fields = len(row.fields), append(row.fields, fmt.Sprint(e[key]))
		}
	}
	d = Decision{ID: t.field(row, "EventId"), size: len(sets), Reward: 0 - t.float32(row, "_label_cost")}
	d.Propensity = t.probability(row, "_label_probability", d.size)
	d.SamplingWeight = 1 / (1 - t.number(row, "pdrop", 0, 1-1/mostSampling, "a share from 0 to 1 - 1e-9"))
	d.Chosen = t.whole(row, "_labelIndex", 0, d.size-1)
	for c, set := range append([]any{context}, sets...) {
		flatten("", set, func(name string, x float64) {
			if !(math.Abs(x) <= math.MaxFloat32) {
				t.wrong(row, name, "%v is too large", x)
			} else if x != 0 {
				d.values = append(d.values, value{int32(c - 1), t.at(name), t.short(name, x)})
			}
		})
	}
	return d, t.err
}

// flatten calls add with the features of a JSON value: numbers by the names that lead to them, and 1
// for name=text. Names that begin with _ are no features.
func flatten(name string, v any, add func(name string, x float64)) {
	switch v := v.(type) {
	case float64:
		add(name, v)
	case string, bool:
		add(fmt.Sprint(name, "=", v), 1)
	case []any:
		for i, x := range v {
			flatten(fmt.Sprint(name, ".", i), x, add)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !strings.HasPrefix(key, "_") {
				flatten(strings.TrimPrefix(name+"."+key, "."), v[key], add)
			}
		}
	}
}
