package cellbuild

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestReadCommand(t *testing.T) {
	for line, want := range map[string]command{
		`/go/link -o $WORK/b001/exe/a.out "-X=main.s=a b" -s`: {Args: []string{"/go/link", "-o", "$WORK/b001/exe/a.out", "-X=main.s=a b", "-s"}},
		`GOROOT='/usr/local/my go' A="it's" compile`:          {Env: []string{"GOROOT=/usr/local/my go", "A=it's"}, Args: []string{"compile"}},
		`compile "" "(" x=y`:                                  {Args: []string{"compile", "", "(", "x=y"}},
		``:                                                    {},
	} {
		got, err := readCommand(line)
		if err != nil || !slices.Equal(got.Args, want.Args) || !slices.Equal(got.Env, want.Env) {
			t.Errorf("%s is %+v, %v, want %+v", line, got, err, want)
		}
	}
	for _, line := range []string{`a "b`, `a "b"c`, `A="\q" b`} {
		if got, err := readCommand(line); err == nil {
			t.Errorf("%s is %+v, want an error", line, got)
		}
	}
}

// What go shows of any words is read as these words.
func FuzzReadCommand(f *testing.F) {
	for _, seed := range []string{"compile\x00-o\x00a b", "\x00", "link\x00\"\x00\\\x00=>;\x00ü\n", "a\x00A='b'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		words := append([]string{"program"}, strings.Split(joined, "\x00")...)
		var shown []string
		for _, w := range words {
			// As go does, see cmd/go/internal/work.
			if q := strconv.Quote(w); w == "" || strings.ContainsAny(w, " ()>;") || len(q) > len(w)+2 {
				w = q
			}
			shown = append(shown, w)
		}
		got, err := readCommand(strings.Join(shown, " "))
		if err != nil || !slices.Equal(got.Args, words) || got.Env != nil {
			t.Errorf("%q is read as %+v, %v", words, got, err)
		}
	})
}

func TestReadTraceOfOtherThings(t *testing.T) {
	for _, trace := range []string{"", "WORK=/w\n", "a\nb\n", "WORK=/w\n/go/compile -o $WORK/b001/_pkg_.a -importcfg $WORK/b001/importcfg ./main.go\n",
		// A cell's folder in another place than is expected, which another cell does not have.
		"WORK=/w\n/go/compile -o $WORK/b001/_pkg_.a -importcfg $WORK/b001/importcfg -I=/cell/x ./main.go\n/go/link -o $WORK/b001/exe/a.out -importcfg $WORK/b001/importcfg.link $WORK/b001/_pkg_.a\n",
	} {
		if _, _, _, err := readTrace(trace, "/cell"); err == nil {
			t.Errorf("%q is a trace of a build", trace)
		}
	}
}
