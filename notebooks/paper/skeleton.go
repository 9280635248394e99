package paper

import (
	"context"
	"io"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// LargestSum chooses the candidate with the largest sum of features and learns
// nothing.
type LargestSum struct{}

func (LargestSum) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) { panic("todo") }

// Title is the title of an experiment's figures.
func Title(e sim.Experiment) string { panic("todo") }

// Options returns the options that say where results come from: the version of
// this module and the backend, for the headers of the result files.
func Options() sim.Options { panic("todo") }

// Stored returns the results of an experiment that the store holds at the
// largest scale at which it holds all entries, or most of them, in the order of
// Entries. None at all is no error.
func Stored(store sim.Store, e sim.Experiment) ([]*sim.Result, error) { panic("todo") }

type Interval struct{ Mean, Low, High float64 }

func (i Interval) String() string { panic("todo") }

func Mean95(values []float64) Interval { panic("todo") }

type Verdict string

const (
	Reproduced    Verdict = "reproduced"
	NotReproduced Verdict = "not reproduced"
	Undecided     Verdict = "undecided"
	TooShort      Verdict = "too short to judge"
	NotRun        Verdict = "not run"
	Note          Verdict = ""
)

type Claim struct {
	Row       int
	Statement string
	Source    string
	Setting   string
	Parts     []Part
	Verdict   Verdict
}

type Part struct {
	Evidence string
	Verdict  Verdict
}

// Claims judges the claims of the paper by results, those of each experiment by
// its name, and by the theory study, which may be nil.
func Claims(results map[string][]*sim.Result, theory *Theory) []Claim { panic("todo") }

// ClaimsOn are the claims that rest on the results of one experiment.
func ClaimsOn(results []*sim.Result) []Claim { panic("todo") }

// Theory is what the study of the paper's theory measured.
type Theory struct{}

// MeasureTheory measures what the paper proves, with a fraction of the usual draws.
func MeasureTheory(ctx context.Context, scale float64) (*Theory, error) { panic("todo") }

// WriteText writes the claims as text in lines of up to width characters.
func WriteText(w io.Writer, claims []Claim, width int) error { panic("todo") }

// WriteMarkdown writes a table in GitHub's Markdown.
func WriteMarkdown(w io.Writer, header []string, rows [][]string) error { panic("todo") }

// Tables, each a header and rows, as nb.Table and WriteMarkdown take them.
func ClaimTable(claims []Claim) (header []string, rows [][]string)         { panic("todo") }
func RegretTable(results []*sim.Result) (header []string, rows [][]string) { panic("todo") }
func DifferenceTable(results []*sim.Result, entry string) (header []string, rows [][]string) {
	panic("todo")
}
func GrowthTable(results []*sim.Result) (header []string, rows [][]string) { panic("todo") }
func RewardTable(results []*sim.Result) (header []string, rows [][]string) { panic("todo") }
