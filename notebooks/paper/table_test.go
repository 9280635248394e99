package paper_test

import (
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/paper"
)

var table = []paper.Claim{
	{
		Row: 1, Statement: "A is better than B.", Source: "figure 1a", Setting: "2 runs of 10 steps", Verdict: paper.NotReproduced,
		Parts: []paper.Part{
			{"e: A - B: 1.0 [0.5, 1.5] and a good deal of text that does not fit into a line", paper.NotReproduced},
			{"A_B * |x|", paper.Note},
		},
	},
	{Row: 10, Statement: "C.", Source: "section 2", Verdict: paper.NotRun, Parts: []paper.Part{{"no result", paper.NotRun}}},
}

func TestWriteText(t *testing.T) {
	var b strings.Builder
	if err := paper.WriteText(&b, table, 60); err != nil {
		t.Fatal(err)
	}
	const want = ` 1  not reproduced  A is better than B. [figure 1a; 2 runs
                    of 10 steps]
                  - e: A - B: 1.0 [0.5, 1.5] and a good deal
                    of text that does not fit into a line
                    A_B * |x|

10  not run         C. [section 2]
                  . no result

+ reproduced   - not reproduced   ? undecided   . not run
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestWriteMarkdown(t *testing.T) {
	var b strings.Builder
	if err := paper.WriteMarkdown(&b, table); err != nil {
		t.Fatal(err)
	}
	const want = `| # | The paper claims | Measured: means, and differences with 95 % intervals | Verdict |
|--:|---|---|---|
| 1 | A is better than B. (figure 1a; 2 runs of 10 steps) | e: A - B: 1.0 [0.5, 1.5] and a good deal of text that does not fit into a line: *not reproduced*<br>A\_B \* \|x\| | **not reproduced** |
| 10 | C. (section 2) | no result: *not run* | **not run** |
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// The real table fits into a terminal of 100 columns.
func TestTextFits(t *testing.T) {
	var b strings.Builder
	if err := paper.WriteText(&b, paper.Claims(nil, nil), 100); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 101 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}
