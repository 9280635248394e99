package logged

import (
	"bufio"
	"bytes"
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
		var row record
		if row, err = t.next(); err == nil {
			err = t.item(row)
		}
	}
	t.parse = (*table).shown
	if err == io.EOF {
		err = nil
	} else {
		err = fmt.Errorf("item_context.csv: %w", err)
	}
	return filepath.Join(path, filepath.Base(path)+".csv"), err
}

// item reads an item of the catalogue, which is a category, too.
func (t *table) item(row record) error {
	c := int32(t.log.Candidates)
	t.number(row, "item_id", float64(c), float64(c), fmt.Sprint("the next item, ", c))
	for _, name := range t.header {
		if name == "item_feature_0" {
			t.log.items = append(t.log.items, value{c, t.at(name), t.float32(row, name)})
		} else if strings.HasPrefix(name, "item_") {
			t.log.items = append(t.log.items, value{c, t.at(name + "=" + t.field(row, name)), 1})
		}
	}
	t.log.Candidates++
	return t.err
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

// events reads Vowpal Wabbit's log of decisions, dsjson, an event a line.
func (t *table) events(r io.Reader) error {
	var end error
	skipped, from := 0, int64(0)
	t.text, t.parse = bufio.NewReader(r), (*table).event
	for line := 1; end == nil; line++ {
		var text []byte
		text, end = t.text.ReadBytes('\n')
		to := from + int64(len(text))
		if len(bytes.TrimSpace(text)) > 0 {
			d, err := t.parse(t, []record{{fields: []string{string(text)}}})
			id := cmp.Or(d.ID, fmt.Sprint(line))
			switch before := t.before[id]; {
			case err == nil && d.size == 0:
				skipped++
			case err == nil && before == 0:
				t.before[id] = line
				t.add(d, from, to)
			default:
				if err == nil {
					err = fmt.Errorf("event %q is also in line %d", id, before)
				}
				if err = fmt.Errorf("line %d: %w", line, err); !t.last(err) {
					return err
				}
			}
		}
		from = to
	}
	if skipped > 0 {
		t.log.warn("%d events without candidates (_multi) or reward (_label_cost), or not to be learned, are left out", skipped)
	}
	if end == io.EOF {
		return nil
	}
	return end
}

// event makes a decision of a line of dsjson, without candidates where it is not one.
func (t *table) event(rows []record) (d Decision, err error) {
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
	err = json.Unmarshal([]byte(rows[0].fields[0]), &e)
	sets, _ := e.Context["_multi"].([]any)
	if err != nil || len(sets) == 0 || e.Cost == nil || e.Skip {
		return d, err
	}
	d = Decision{ID: e.EventID, Chosen: e.Action - 1, Propensity: e.Propensity, Reward: float32(0 - *e.Cost), SamplingWeight: 1 / (1 - e.Dropped), size: len(sets)}
	if e.Index != nil {
		d.Chosen = *e.Index
	}
	switch {
	case d.Chosen < 0 || d.Chosen >= len(sets):
		return d, fmt.Errorf("_labelIndex or _label_Action is %d, want one of %d candidates", cmp.Or(e.Action, d.Chosen), len(sets))
	case !(d.Propensity >= leastPropensity && d.Propensity <= 1):
		return d, fmt.Errorf("_label_probability is %v, want 1e-6 to 1", d.Propensity)
	case d.Reward*0 != 0 || !(e.Dropped >= 0 && e.Dropped < 1):
		return d, fmt.Errorf("_label_cost is %v and pdrop %v, want a finite number and 0 to 1", *e.Cost, e.Dropped)
	}
	for c, set := range append([]any{e.Context}, sets...) {
		flatten("", set, func(name string, x float64) {
			if !(math.Abs(x) <= math.MaxFloat32) {
				err = fmt.Errorf("feature %q is %v", name, x)
			} else if x != 0 {
				d.values = append(d.values, value{int32(c - 1), t.at(name), float32(x)})
			}
		})
	}
	return d, err
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
