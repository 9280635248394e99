package logged

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Write writes the log as CSV in the form that Read reads with a zero Format, as
// the same log. It is an error when the log fails its Check or has no decisions,
// when a name is empty or more than a line, when two decisions or two features
// have the same name, and when a feature is called like one of the other columns.
func (l *Log) Write(w io.Writer) error {
	if err := l.checkSome(); err != nil {
		return err
	}
	if err := l.checkNames(); err != nil {
		return fmt.Errorf("logged: %w", err)
	}
	out := csv.NewWriter(w)
	header := []string{"decision"}
	if l.User != nil {
		header = append(header, "user")
	}
	header = append(header, "chosen", "reward")
	if l.Propensity != nil {
		header = append(header, "propensity")
	}
	out.Write(append(header, l.Features...))
	var row []string
	for i := range l.Len() {
		for c := range l.Candidates {
			row = append(row[:0], l.ID[i])
			if l.User != nil {
				row = append(row, l.User[i])
			}
			chosen, reward, propensity := "0", "", ""
			if c == l.Chosen[i] {
				chosen, reward = "1", strconv.FormatFloat(float64(l.Reward[i]), 'g', -1, 32)
				if l.Propensity != nil {
					propensity = strconv.FormatFloat(l.Propensity[i], 'g', -1, 64)
				}
			}
			row = append(row, chosen, reward)
			if l.Propensity != nil {
				row = append(row, propensity)
			}
			for _, x := range l.Context(i, c) {
				row = append(row, strconv.FormatFloat(float64(x), 'g', -1, 32))
			}
			out.Write(row)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("logged: %w", err)
	}
	return nil
}

func (l *Log) checkNames() error {
	for i, name := range l.Features {
		if err := checkName(name); err != nil {
			return fmt.Errorf("feature %d %w", i, err)
		}
		if slices.Contains(ownColumns, name) || slices.Contains(l.Features[:i], name) {
			return fmt.Errorf("feature %d has the name of another column, %q", i, name)
		}
	}
	seen := make(map[string]bool, l.Len())
	for i, name := range l.ID {
		if err := checkName(name); err != nil {
			return fmt.Errorf("decision %d %w", i, err)
		}
		if seen[name] {
			return fmt.Errorf("decision %d has the name of another one, %q", i, name)
		}
		seen[name] = true
		if l.User != nil {
			if err := checkName(l.User[i]); err != nil {
				return fmt.Errorf("the user of decision %d %w", i, err)
			}
		}
	}
	return nil
}
