package logged

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// catalogue reads item_context.csv in the folder of a campaign of the Open Bandit Dataset, and returns
// the path of the file with the folder's name, which has a decision a record.
func (t *table) catalogue(folder string) (string, error) {
	path, err := filepath.Abs(folder)
	items, err2 := os.Open(filepath.Join(path, "item_context.csv"))
	if err = errors.Join(err, err2); err == nil {
		defer items.Close()
		err = t.open(items)
	}
	for err == nil {
		c := int32(t.log.Candidates)
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
		t.log.Candidates++
		err = t.err
	}
	t.parse = (*table).shown
	if err != io.EOF {
		return "", fmt.Errorf("item_context.csv: %w", err)
	}
	return filepath.Join(path, filepath.Base(path)+".csv"), nil
}

// shown reads a decision among the items of the catalogue.
func (t *table) shown(rows []record) (Decision, error) {
	row, items := rows[0], t.log.Candidates
	d := Decision{ID: strings.Clone(row.fields[0]), size: items, Reward: t.float32(row, "click")}
	d.Propensity = t.number(row, "propensity_score", leastPropensity, 1, "a probability from 1e-6 to 1")
	d.Chosen = int(t.number(row, "item_id", 0, float64(items-1), "an item of item_context.csv"))
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
	var e struct {
		EventID    string         `json:"EventId"`
		Cost       *float64       `json:"_label_cost"`
		Propensity float64        `json:"_label_probability"`
		Index      *int           `json:"_labelIndex"`   // from 0
		Action     int            `json:"_label_Action"` // from 1
		Context    map[string]any `json:"c"`
		Dropped    float64        `json:"pdrop"` // the share of such events that are not in the file
		Skip       bool           `json:"_skipLearn"`
	}
	row := rows[0]
	if err := json.Unmarshal([]byte(row.fields[0]), &e); err != nil {
		return d, fmt.Errorf("line %d: %w", row.line, err)
	}
	sets, _ := e.Context["_multi"].([]any)
	if len(sets) == 0 || e.Cost == nil || e.Skip {
		return d, nil
	}
	d = Decision{ID: cmp.Or(e.EventID, fmt.Sprint("line ", row.line)), Chosen: e.Action - 1, Propensity: e.Propensity, Reward: t.short("_label_cost", 0-*e.Cost), SamplingWeight: 1 / (1 - e.Dropped), size: len(sets)}
	if e.Index != nil {
		d.Chosen = *e.Index
	}
	switch {
	case d.Chosen < 0 || d.Chosen >= len(sets):
		t.wrong(row, "_label_Action or _labelIndex", "%d is none of %d candidates", cmp.Or(e.Action, d.Chosen), len(sets))
	case !(d.Propensity >= leastPropensity && d.Propensity <= 1):
		t.wrong(row, "_label_probability", "%v is not a probability from 1e-6 to 1", d.Propensity)
	case d.Reward*0 != 0 || !(e.Dropped >= 0 && e.Dropped < 1):
		t.wrong(row, "_label_cost or pdrop", "%v is not a finite number, or %v not from 0 to 1", *e.Cost, e.Dropped)
	}
	for c, set := range append([]any{e.Context}, sets...) {
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
		for key, x := range v {
			if !strings.HasPrefix(key, "_") {
				flatten(strings.TrimPrefix(name+"."+key, "."), x, add)
			}
		}
	}
}
