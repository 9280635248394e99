package logged

import (
	"cmp"
	"encoding/json"
	"errors"
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
			if t.Uniform {
				d.Propensity = 1 / float64(len(rows))
			} else if t.Propensity != "" {
				d.Propensity = t.number(row, t.Propensity, leastPropensity, 1, "a probability from 1e-6 to 1")
			}
			if t.SamplingWeight != "" {
				d.SamplingWeight = t.number(row, t.SamplingWeight, leastSampling, mostSampling, "a number from 1e-9 to 1e9")
			}
		default:
			if x, err := strconv.ParseFloat(t.field(row, t.Reward), 64); err == nil && x != 0 && !t.unchosen {
				t.log.warn("line %d has a reward of a candidate that was not chosen: such rewards are not read", row.line)
				t.unchosen = true
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
	t.what = "item of item_context.csv"
	path, err := filepath.Abs(folder)
	items, err2 := os.Open(filepath.Join(path, "item_context.csv"))
	if err = errors.Join(err, err2); err == nil {
		defer items.Close()
		err = t.open(items)
	}
	for err == nil {
		c, before := int32(t.log.Candidates), t.log.items
		var row record
		if row, err = t.next(); err != nil {
			break
		}
		t.number(row, "item_id", float64(c), float64(c), fmt.Sprint("the next item, ", c))
		for _, name := range t.header { // the item is a category, too
			if name == "item_feature_0" {
				t.log.items = append(t.log.items, value{c, t.at(name), t.float32(row, name)})
			} else if strings.HasPrefix(name, "item_") {
				t.log.items = append(t.log.items, value{c, t.at(name + "=" + t.field(row, name)), 1})
			}
		}
		if t.log.Candidates++; t.err != nil {
			t.log.Candidates, t.log.items, err, t.err = int(c), before, t.err, nil
		}
	}
	if t.header == nil || !t.last(err) {
		return "", fmt.Errorf("item_context.csv: %w", err)
	}
	t.parse, t.what = (*table).shown, "decision"
	return filepath.Join(path, filepath.Base(path)+".csv"), nil
}

// shown reads a decision among the items of the catalogue.
func (t *table) shown(rows []record) (Decision, error) {
	row, items := rows[0], t.log.Candidates
	d := Decision{ID: strings.Clone(row.fields[0]), size: items, Reward: t.float32(row, "click")}
	if d.Propensity = 1 / float64(items); !t.Uniform {
		d.Propensity = t.number(row, "propensity_score", leastPropensity, 1, "a probability from 1e-6 to 1")
	}
	d.Chosen = int(t.number(row, "item_id", 0, float64(items-1), "an item of item_context.csv"))
	t.number(row, "item_id", float64(d.Chosen), float64(d.Chosen), "a whole number")
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

// event makes a decision of a line of dsjson, Vowpal Wabbit's log; without candidates where it is not
// one.
func (t *table) event(rows []record) (d Decision, _ error) {
	var e map[string]any // a struct would take keys in any case
	row := rows[0]
	if err := json.Unmarshal([]byte(row.fields[0]), &e); err != nil {
		return d, fmt.Errorf("line %d: %w", row.line, err)
	}
	context, _ := e["c"].(map[string]any)
	sets, _ := context["_multi"].([]any)
	if len(sets) == 0 || e["_label_cost"] == nil || e["_skipLearn"] == true {
		return d, nil
	}
	number := func(key string, least, most float64) float64 {
		x, ok := e[key].(float64)
		if !(ok && x >= least && x <= most) {
			t.wrong(row, key, "%#v is not a number from %.5g to %.5g", e[key], least, most)
		}
		return x
	}
	if _, isNumber := e["EventId"].(float64); isNumber { // which may have more digits
		raw := map[string]json.RawMessage{}
		json.Unmarshal([]byte(row.fields[0]), &raw)
		e["EventId"] = string(raw["EventId"])
	}
	d.ID, d.size = fmt.Sprint(cmp.Or(e["EventId"], any(fmt.Sprint("line ", row.line)))), len(sets)
	d.Reward = t.short("_label_cost", 0-number("_label_cost", -math.MaxFloat32, math.MaxFloat32))
	if d.Propensity = 1 / float64(d.size); !t.Uniform {
		d.Propensity = number("_label_probability", leastPropensity, 1)
	}
	e["pdrop"] = cmp.Or(e["pdrop"], any(0.0)) // the share of such events that are not in the file
	d.SamplingWeight = 1 / (1 - number("pdrop", 0, 1-1/mostSampling))
	at, first := "_labelIndex", 0.0
	if e[at] == nil {
		at, first = "_label_Action", 1
	}
	chosen := number(at, first, first+float64(len(sets)-1)) - first
	if d.Chosen = int(chosen); chosen != math.Trunc(chosen) {
		t.wrong(row, at, "%v is not a whole number", e[at])
	}
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
