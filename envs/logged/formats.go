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

// openBandit reads the Open Bandit Dataset in the folder of a campaign: item_context.csv has the
// catalogue, and a file with the folder's name a decision a record.
func openBandit(folder string, hash int) (*Log, error) {
	t := newTable(hash)
	path, err := filepath.Abs(folder)
	for i, name := range []string{"item_context.csv", filepath.Base(path) + ".csv"} {
		file, err2 := os.Open(filepath.Join(path, name))
		if err = errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("logged: %w", err)
		}
		defer file.Close()
		for err = t.open(file, ','); err == nil; {
			var row record
			if row, err = t.next(); err == nil {
				err = []func(record) error{t.item, t.shown}[i](row)
			}
		}
		if !t.last(err) {
			err = fmt.Errorf("%s: %w", name, err)
			break
		}
		err, t.err = nil, nil
	}
	return t.finish(folder, err)
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
func (t *table) shown(row record) error {
	items := t.log.Candidates
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
	if t.err == nil {
		t.log.add(d)
	}
	return t.err
}

// event is a line of dsjson.
type event struct {
	EventID    string         `json:"EventId"`
	Cost       *float64       `json:"_label_cost"`
	Propensity float64        `json:"_label_probability"`
	Index      *int           `json:"_labelIndex"`   // from 0
	Action     int            `json:"_label_Action"` // from 1
	Context    map[string]any `json:"c"`
	Dropped    float64        `json:"pdrop"` // the share of such events that are not in the file
	Skip       bool           `json:"_skipLearn"`
}

// dsjson reads Vowpal Wabbit's log of decisions, an event a line.
func dsjson(r io.Reader, name string, hash int) (*Log, error) {
	t, lines, skipped := newTable(hash), map[string]int{}, 0
	t.text = bufio.NewReader(r)
	for line := 1; t.err == nil; line++ {
		var text []byte
		text, t.err = t.text.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var e event
		var d Decision
		err := json.Unmarshal(text, &e)
		sets, _ := e.Context["_multi"].([]any)
		switch before := lines[e.EventID]; {
		case err != nil:
		case len(sets) == 0 || e.Cost == nil || e.Skip:
			skipped++
			continue
		case before > 0:
			err = fmt.Errorf("event %q is also in line %d", e.EventID, before)
		default:
			d, err = e.decision(sets, t.names)
		}
		if err == nil {
			t.log.add(d)
			lines[cmp.Or(d.ID, fmt.Sprint(line))] = line
		} else if err = fmt.Errorf("line %d: %w", line, err); !t.last(err) {
			t.err = err
		}
	}
	if skipped > 0 {
		t.log.warn("%d events without candidates (_multi) or reward (_label_cost), or not to be learned, are left out", skipped)
	}
	if t.err == io.EOF {
		t.err = nil
	}
	return t.finish(name, t.err)
}

// decision makes a decision of an event.
func (e event) decision(sets []any, n names) (d Decision, err error) {
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
				d.values = append(d.values, value{int32(c - 1), n.at(name), float32(x)})
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
