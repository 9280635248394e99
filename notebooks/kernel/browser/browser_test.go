// Package browser tests in a real browser, Chromium without a window, what users
// see: the notebooks in JupyterLab or Jupyter Notebook, as they are stored and
// after all cells were run, and the pages of the command paper site.
//
//	go -C notebooks/kernel test ./browser -all -screenshots DIR
//
// runs the cells of all notebooks, and not only of a few that have between them
// what cells do, and keeps a picture of each page. The tests need chromium and
// jupyter-lab 4 or jupyter-notebook 6 or 7 on PATH, and are skipped where these
// are missing.
package browser

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/proto"
)

var (
	screenshots = flag.String("screenshots", "", "folder for pictures of the pages")
	all         = flag.Bool("all", false, "run the cells of all notebooks")
)

// inFull are the notebooks whose cells are run in any case: tables, a progress
// bar, formulas, a file beside the notebook, an experiment with its verdict, and
// the music data. All are executed without a browser by the tests of the command
// paper.
var inFull = []string{"music-state", "toy-linear", "quickstart", "own-data"}

// patience is for one page, whose cells are compiled on a machine that does other
// things as well.
const patience = 5 * time.Minute

// programs finds what the tests need and cannot build.
func programs(t *testing.T, names ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("skipped: %s is not on PATH (Debian: apt-get install --no-install-recommends chromium jupyter-notebook)", name)
		}
		found[name] = path
	}
	return found
}

// repository is the folder of the module that these notebooks belong to.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "notebooks", "cmd", "paper")); err != nil {
		t.Fatal(err)
	}
	return root
}

// paperProgram builds the command line.
func paperProgram(t *testing.T, root string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "paper")
	cmd := exec.Command("go", "build", "-o", program, "./notebooks/cmd/paper")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "PWD="+root, "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// start starts the browser.
func start(t *testing.T, chromium string) *rod.Browser {
	t.Helper()
	flags := launcher.New().Leakless(false).Headless(true).NoSandbox(os.Geteuid() == 0).UserDataDir(t.TempDir()).
		Set("disable-gpu").Set("disable-quic").Set("disable-component-update").Set("hide-scrollbars").
		Set("proxy-server", "direct://").Set("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost")
	const listens = "DevTools listening on "
	line := begin(t, exec.Command(chromium, flags.FormatArgs()...), syscall.SIGTERM, listens)
	b := rod.New().ControlURL(strings.TrimPrefix(line, listens))
	if err := b.Connect(); err != nil {
		t.Fatal(err)
	}
	return b
}

// keep keeps a picture of what is seen of a page.
func keep(t *testing.T, page *rod.Page, name string) {
	t.Helper()
	if *screenshots == "" {
		return
	}
	data, err := page.Screenshot(false, nil)
	if err == nil {
		err = os.MkdirAll(*screenshots, 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(*screenshots, name+".png"), data, 0o666)
	}
	if err != nil {
		t.Error(err)
	}
}

// waitFor waits until an expression is true on a page.
func waitFor(t *testing.T, page *rod.Page, what, expression string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		// While a page loads there is nothing to ask.
		r, err := page.Eval("() => { try { return !!(" + expression + ") } catch (e) { return false } }")
		if err == nil && r.Value.Bool() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after %v (%v)", what, patience, err)
		}
	}
}

// ask evaluates a JavaScript function on a page.
func ask(t *testing.T, page *rod.Page, function string, result any) {
	t.Helper()
	r, err := page.Eval(function)
	if err != nil {
		t.Fatal(err)
	}
	if result == nil {
		return
	}
	data, err := r.Value.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, result)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lab runs paper lab until the test ends, with the front end that it finds, and
// returns the address of a notebook's page. It has a home folder of its own, as of
// a user who has just cloned the repository and trusts nothing in it.
func lab(t *testing.T, root, program string) (page func(notebook string) string) {
	t.Helper()
	home, out := t.TempDir(), t.TempDir()
	writeSettings(t, home)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	listener.Close()
	cmd := exec.Command(program, "lab", "quickstart", "-no-browser", "-port", port, "-scale", "0.01", "-out", out)
	cmd.Dir = root
	cmd.Env = append(withoutJupyter(os.Environ()), goCaches(t)...)
	if user, err := os.UserHomeDir(); err == nil && os.Getenv("PYTHONUSERBASE") == "" {
		cmd.Env = append(cmd.Env, "PYTHONUSERBASE="+filepath.Join(user, ".local")) // where pip may have put Jupyter
	}
	cmd.Env = append(cmd.Env, "PWD="+root, "GOWORK=off", "HOME="+home)
	address := begin(t, cmd, syscall.SIGINT, "http://")
	// JupyterLab opens what was open before, unless it is told to begin anew.
	address = strings.Replace(address, "?", "?reset&", 1)
	return func(notebook string) string { return strings.Replace(address, "quickstart.ipynb", notebook, 1) }
}

func withoutJupyter(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		return strings.HasPrefix(s, "JUPYTER_") || strings.HasPrefix(s, "PAPER_") || strings.HasPrefix(s, "XDG_")
	})
}

// goCaches are Go's settings that depend on the home folder.
func goCaches(t *testing.T) (env []string) {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env
}

// stored is as much of a stored notebook as the tests compare with.
type stored struct {
	Cells []struct {
		Type    string `json:"cell_type"`
		Outputs []struct {
			Data map[string]json.RawMessage `json:"data"`
		}
	}
}

// pictures counts the pictures of each cell.
func (s stored) pictures() (counts []int) {
	for _, c := range s.Cells {
		n := 0
		for _, o := range c.Outputs {
			if o.Data["image/png"] != nil {
				n++
			}
		}
		counts = append(counts, n)
	}
	return counts
}

// outputs tells which cells have some.
func (s stored) outputs() (some []bool) {
	for _, c := range s.Cells {
		some = append(some, len(c.Outputs) > 0)
	}
	return some
}

// shownPictures counts the pictures of each cell that can be seen: which have
// loaded, have a place on the page, and more than one colour.
const shownPictures = `return cells.map(cell => {
	return [...cell.element.querySelectorAll('.output img, .jp-OutputArea-output img')].filter(img => {
		const place = img.getBoundingClientRect();
		if (!img.complete || !img.naturalWidth || place.width < 50 || place.height < 50) return false;
		const canvas = document.createElement('canvas');
		canvas.width = img.naturalWidth; canvas.height = img.naturalHeight;
		const context = canvas.getContext('2d');
		context.drawImage(img, 0, 0);
		const dots = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
		return dots.some(dot => dot !== dots[0]);
	}).length;
})`

// toFigure scrolls to the first picture.
const toFigure = `
	const img = cells.map(cell => cell.element.querySelector('.output img, .jp-OutputArea-output img')).find(img => img);
	if (img) img.scrollIntoView({block: 'center'});`

// problems are the outputs of cells that failed or complain, and cells that were
// not executed.
const problems = `return cells.flatMap((cell, i) => {
	if (!cell.code) return [];
	const bad = cell.outputs
		.filter(o => o.output_type === 'error' || o.output_type === 'stream' && o.name === 'stderr')
		.map(o => 'cell ' + (i + 1) + ': ' + (o.evalue || o.text));
	if (typeof cell.number !== 'number') bad.push('cell ' + (i + 1) + ' was not executed');
	return bad;
})`

// Every notebook shows its stored pictures to a user who does not trust it yet.
// After Run All those that are run have no error, and pictures and other outputs
// in the same cells. What is played is short, as in the tests without a browser.
func TestBrowserNotebooks(t *testing.T) {
	found := programs(t, "chromium")
	if _, err := exec.LookPath("jupyter-lab"); err != nil {
		programs(t, "jupyter-notebook")
	}
	root := repository(t)
	files, err := filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb"))
	if err != nil || len(files) == 0 {
		t.Fatalf("notebooks are %v, %v", files, err)
	}
	address := lab(t, root, paperProgram(t, root))
	browser := start(t, found["chromium"])

	// A third page would only slow the others down.
	free := make(chan struct{}, 2)
	// The longest come first.
	order := func(file string) int {
		if i := slices.Index(inFull, strings.TrimSuffix(filepath.Base(file), ".ipynb")); i >= 0 {
			return i
		}
		return len(inFull)
	}
	slices.SortStableFunc(files, func(a, b string) int { return order(a) - order(b) })
	var wg sync.WaitGroup
	for _, file := range files {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			t.Run(strings.TrimSuffix(filepath.Base(file), ".ipynb"), func(t *testing.T) {
				testNotebook(t, browser, address(filepath.Base(file)), file)
			})
		})
	}
	wg.Wait()
}

func testNotebook(t *testing.T, browser *rod.Browser, address, file string) {
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var notebook stored
	if err := json.Unmarshal(before, &notebook); err != nil {
		t.Fatal(err)
	}
	want := notebook.pictures()
	name := strings.TrimSuffix(filepath.Base(file), ".ipynb")

	page, err := browser.Page(proto.TargetCreateTarget{})
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	if err := page.SetViewport(&proto.EmulationSetDeviceMetricsOverride{Width: 1200, Height: 900, DeviceScaleFactor: 1}); err != nil {
		t.Fatal(err)
	}
	// JupyterLab draws no outputs of a page behind another one.
	if err := (proto.EmulationSetFocusEmulationEnabled{Enabled: true}).Call(page); err != nil {
		t.Fatal(err)
	}
	if err := page.Navigate(address); err != nil {
		t.Fatal(err)
	}
	waitFor(t, page, "the page of "+name, notebook6.is+" || "+jupyterLab.is)
	front := frontEndOf(t, page)
	waitFor(t, page, name, front.expression(front.ready))
	var version string
	ask(t, page, "() => "+front.name, &version)
	t.Logf("looked at in %s", version)
	// The file is the repository's and stays as it is.
	ask(t, page, front.function(front.unsaved), nil)

	var trusted bool
	ask(t, page, front.function("return "+front.trusted), &trusted)
	if trusted {
		t.Error("the notebook is trusted: the test shows nothing")
	}
	if shown := pictures(t, page, front, want); !slices.Equal(shown, want) {
		t.Errorf("as stored, the cells show %v pictures, want %v", shown, want)
	}
	ask(t, page, front.function(toFigure), nil)
	keep(t, page, name+"-stored")
	if *all || slices.Contains(inFull, name) {
		runAll(t, page, front, name, want, notebook.outputs())
	}
	ask(t, page, front.function(front.end), nil)
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the notebook's file was changed (%v)", err)
	}
}

// pictures counts the pictures that each cell shows: as many as are wanted, or
// what they are when a page has had time to draw them.
func pictures(t *testing.T, page *rod.Page, front frontEnd, want []int) (shown []int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		ask(t, page, front.function(shownPictures), &shown)
		if slices.Equal(shown, want) || time.Now().After(deadline) {
			return shown
		}
	}
}

// runAll runs all cells and compares with what the stored ones have: their numbers
// of pictures, and whether they have outputs at all.
func runAll(t *testing.T, page *rod.Page, front frontEnd, name string, want []int, outputs []bool) {
	t.Helper()
	began := time.Now()
	if strings.HasPrefix(name, "music-") {
		// Their experiments have 250 times the steps.
		ask(t, page, front.function("("+front.execute+")('%env PAPER_SCALE=0.00001')"), nil)
	}
	ask(t, page, front.function(front.clear), nil)
	waitFor(t, page, "an empty "+name, front.expression(front.cells+`.every(c => !c.code || c.outputs.length === 0 && typeof c.number !== 'number')`))
	ask(t, page, front.function(front.run), nil)
	waitFor(t, page, "Run All of "+name, front.expression(front.ran))
	var wrong []string
	ask(t, page, front.function(problems), &wrong)
	for _, w := range wrong {
		t.Error(w)
	}
	shown := pictures(t, page, front, want)
	if !slices.Equal(shown, want) {
		t.Errorf("after Run All, the cells show %v pictures, want %v", shown, want)
	}
	var have []bool
	ask(t, page, front.function("return cells.map(cell => cell.code && cell.outputs.length > 0)"), &have)
	if !slices.Equal(have, outputs) {
		t.Errorf("after Run All, the cells have outputs: %v, want %v", have, outputs)
	}
	ask(t, page, front.function(toFigure), nil)
	keep(t, page, name+"-run")
	t.Logf("Run All: %.1f s, pictures of the cells %v", time.Since(began).Seconds(), shown)
}

// The pages of the site load from files without an error, describe their
// pictures, fit a phone, and can be read in the light and in the dark.
func TestBrowserSite(t *testing.T) {
	found := programs(t, "chromium")
	root := repository(t)
	dir := filepath.Join(t.TempDir(), "site")
	cmd := exec.Command(paperProgram(t, root), "site", dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("paper site: %v\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(pages) < 2 {
		t.Fatalf("pages are %v, %v", pages, err)
	}
	browser := start(t, found["chromium"])
	for _, file := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".html"), func(t *testing.T) { testPage(t, browser, file) })
	}
}

// poorContrast are texts that differ too little from what is behind them, by
// WCAG 2.1, criterion 1.4.3: https://www.w3.org/TR/WCAG21/#contrast-minimum.
const poorContrast = `() => {
	const colour = text => text.match(/[\d.]+/g).map(Number);
	const luminance = ([r, g, b]) => {
		const [x, y, z] = [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * x + 0.7152 * y + 0.0722 * z;
	};
	const found = new Set();
	for (const e of document.querySelectorAll('body *')) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
		let behind = e, back = [0, 0, 0, 0];
		for (; behind && back[3] === 0; behind = behind.parentElement) {
			back = colour(getComputedStyle(behind).backgroundColor);
			if (back.length === 3) break;
		}
		const a = luminance(colour(getComputedStyle(e).color)), b = luminance(back);
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) found.add('<' + e.tagName + ' class="' + e.className + '">: ' + ratio.toFixed(2));
	}
	return [...found];
}`

// tooWide are elements that stick out of the page.
const tooWide = `() => {
	const width = document.documentElement.clientWidth, page = document.documentElement.scrollWidth;
	if (page <= width) return [];
	const scrolls = e => e && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
	return ['the page is ' + page + ' wide'].concat([...document.querySelectorAll('body *')]
		.filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e))
		.map(e => '<' + e.tagName + ' class="' + e.className + '"> ' + e.textContent.slice(0, 60)).slice(0, 5));
}`

func testPage(t *testing.T, browser *rod.Browser, file string) {
	name := strings.TrimSuffix(filepath.Base(file), ".html")
	page, err := browser.Page(proto.TargetCreateTarget{})
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	var mu sync.Mutex
	var complaints []string
	complain := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		complaints = append(complaints, text)
	}
	for _, enable := range []interface{ Call(proto.Client) error }{proto.LogEnable{}, proto.RuntimeEnable{}} {
		if err := enable.Call(page); err != nil {
			t.Fatal(err)
		}
	}
	go page.EachEvent(
		func(e *proto.LogEntryAdded) {
			if e.Entry.Level == proto.LogLogEntryLevelError || e.Entry.Level == proto.LogLogEntryLevelWarning {
				complain(e.Entry.Text + " " + e.Entry.URL)
			}
		},
		func(e *proto.RuntimeExceptionThrown) { complain(e.ExceptionDetails.Text) },
		func(e *proto.RuntimeConsoleAPICalled) { complain(fmt.Sprint("console: ", e.Type)) },
	)()
	for _, size := range []struct {
		name          string
		width, height int
		scheme        string
	}{{"phone", 360, 800, "light"}, {"desk", 1200, 900, "dark"}} {
		if err := page.SetViewport(&proto.EmulationSetDeviceMetricsOverride{Width: size.width, Height: size.height, DeviceScaleFactor: 1, Mobile: size.name == "phone"}); err != nil {
			t.Fatal(err)
		}
		scheme := proto.EmulationSetEmulatedMedia{Features: []*proto.EmulationMediaFeature{{Name: "prefers-color-scheme", Value: size.scheme}}}
		if err := scheme.Call(page); err != nil {
			t.Fatal(err)
		}
		if err := page.Navigate("file://" + file); err != nil {
			t.Fatal(err)
		}
		if err := page.WaitLoad(); err != nil {
			t.Fatal(err)
		}
		keep(t, page, "site-"+name+"-"+size.name+"-"+size.scheme)
		// All that a reader can open and scroll to is looked at.
		ask(t, page, `() => {
			document.querySelectorAll('details').forEach(d => d.open = true);
			document.querySelectorAll('img').forEach(img => img.loading = 'eager');
		}`, nil)
		waitFor(t, page, "pictures of "+name, "[...document.images].every(img => img.complete)")
		var bad []string
		ask(t, page, `() => [...document.images].filter(img => !img.naturalWidth || !img.alt.trim()).map(img => img.src + ': ' + img.naturalWidth + ' wide, described as ' + img.alt)`, &bad)
		for _, b := range bad {
			t.Errorf("a picture is not there or not described: %s", b)
		}
		ask(t, page, tooWide, &bad)
		for _, b := range bad {
			t.Errorf("%d px: %s", size.width, b)
		}
		ask(t, page, poorContrast, &bad)
		for _, b := range bad {
			t.Errorf("%s: contrast of %s", size.scheme, b)
		}
		var light bool
		ask(t, page, `() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]) > 127`, &light)
		if light != (size.scheme == "light") {
			t.Errorf("a reader who wants it %s gets a page that is light: %v", size.scheme, light)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, c := range complaints {
		t.Errorf("the browser complains: %s", c)
	}
}
