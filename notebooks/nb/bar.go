package nb

import (
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/contextrec/contextrec/envs/sim"
)

// Bar returns a progress bar for sim.Options.Progress. It shows how much is
// done, run-steps a second, the time that is left, and the contender that
// advances with its regret so far. It is redrawn at most 6 times a second and
// erased when all is done, so that nothing of it is stored with the notebook.
// Outside a notebook it is a line on stderr, where that is a terminal.
func Bar() func(sim.Status) { return newBar().update }

type bar struct {
	mu     sync.Mutex
	began  time.Time // first status
	before int64     // run-steps that were played until then
	drawn  time.Time // last drawing; zero: nothing is shown
	draw   func(st sim.Status, text string)
	clear  func()
}

const redrawEvery = 150 * time.Millisecond

func newBar() *bar {
	if gonbui.IsNotebook {
		id := gonbui.UniqueId()
		update := func(source string) {
			gonbui.SendData(&protocol.DisplayData{
				Data:      map[protocol.MIMEType]any{protocol.MIMETextHTML: source},
				DisplayID: id,
			})
		}
		return &bar{
			draw: func(st sim.Status, text string) {
				update(fmt.Sprintf(`<progress value="%d" max="%d"></progress> <code>%s</code>`, st.Done, st.Total, html.EscapeString(text)))
			},
			clear: func() {
				update("")
				Check(flush())
			},
		}
	}
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return terminalBar(os.Stderr)
	}
	return &bar{draw: func(sim.Status, string) {}, clear: func() {}}
}

func terminalBar(w io.Writer) *bar {
	const eraseLine = "\r\x1b[K"
	return &bar{
		draw:  func(_ sim.Status, text string) { fmt.Fprint(w, eraseLine+text) },
		clear: func() { fmt.Fprint(w, eraseLine) },
	}
}

func (b *bar) update(st sim.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.began.IsZero() {
		b.began, b.before = now, st.Done-st.Served
	}
	if st.Done >= st.Total {
		b.eraseLocked()
		return
	}
	if now.Sub(b.drawn) < redrawEvery {
		return
	}
	b.drawn = now
	b.draw(st, progress(st, st.Done-st.Served-b.before, now.Sub(b.began)))
}

// erase removes the bar; it may be shown again.
func (b *bar) erase() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.eraseLocked()
}

func (b *bar) eraseLocked() {
	if !b.drawn.IsZero() {
		b.drawn = time.Time{}
		b.clear()
	}
}

// progress is the bar's text after played run-steps in the given time.
func progress(st sim.Status, played int64, took time.Duration) string {
	parts := []string{fmt.Sprintf("%3.0f %%", 100*float64(st.Done)/float64(st.Total))}
	if rate := float64(played) / took.Seconds(); played > 0 && took > 0 {
		parts = append(parts, grouped(int64(rate))+" run-steps/s")
		// A rate that is almost nothing must not overflow the duration.
		left := math.Min(float64(st.Total-st.Done)/rate, 1e9)
		parts = append(parts, time.Duration(left*float64(time.Second)).Round(time.Second).String()+" left")
	}
	if st.Contender != "" {
		parts = append(parts, st.Contender)
		if math.IsNaN(st.Regret) {
			parts = append(parts, fmt.Sprintf("reward %.3g a step", st.Reward))
		} else {
			parts = append(parts, fmt.Sprintf("regret %.1f", st.Regret))
		}
	}
	return strings.Join(parts, "   ")
}

// grouped writes a whole number with a comma before every three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
