package sim

// Format is the file of a result.
func (r *Result) Format() string { return string(r.format()) }

func ReadResult(text string) (*Result, error) { return parse([]byte(text), true) }
