package sim

// Result is a finished contender.
type Result struct {
	Experiment string
	Contender  string
	Problem    string // Go type and JSON
	Algorithm  string // Go type and JSON
	Runs       int
	Steps      int
	Seed       uint64
	Version    string
	Backend    string

	Checkpoints []int       // ascending steps (1-based counts); the last is Steps
	Reward      [][]float64 // [run][checkpoint], cumulated realised reward
	Regret      [][]float64 // [run][checkpoint], cumulated expected regret; nil where there is no Oracle
}

// Store is a folder of finished results.
type Store struct{ Dir string }
