package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-rod/rod"
)

// frontEnd says how the page of a notebook is looked at. The fields are
// expressions in JavaScript; in all of them, notebook is what open gives.
type frontEnd struct {
	is   string // whether a page is of it
	name string // with the version

	open    string // the open notebook
	ready   string // whether its kernel is connected
	unsaved string // keeps the page from saving the notebook, where settings do not
	trusted string
	// The cells, each with its element on the page, whether it has code, its
	// number, which is one after it was executed, and its outputs.
	cells   string
	execute string // function that has the kernel execute code of no cell
	clear   string // clears all outputs, and so the numbers of cells
	run     string // executes all cells
	ran     string // whether all cells have been executed, or one has failed
	end     string // ends the kernel
}

// notebook6 is Jupyter Notebook 6.
var notebook6 = frontEnd{
	is:   `!!(window.Jupyter && Jupyter.notebook)`,
	name: `'Jupyter Notebook ' + Jupyter.version`,

	open:    `Jupyter.notebook`,
	ready:   `notebook._fully_loaded && notebook.kernel.is_connected()`,
	unsaved: `notebook.set_autosave_interval(0)`,
	trusted: `notebook.trusted`,
	cells: `notebook.get_cells().map(c => ({element: c.element[0], code: c.cell_type === 'code',
		number: c.input_prompt_number, outputs: c.output_area ? c.output_area.outputs : []}))`,
	execute: `code => notebook.kernel.execute(code, {}, {silent: true})`,
	clear:   `notebook.clear_all_output()`,
	run:     `notebook.execute_all_cells()`,
	ran: `notebook.kernel_busy === false && notebook.get_cells().every(c =>
		c.cell_type !== 'code' || c.input_prompt_number !== '*' && !c.element.hasClass('running'))`,
	end: `notebook.session.delete()`,
}

// jupyterLab is JupyterLab, and Jupyter Notebook 7, which is made of its parts.
// Its application is to be had on the page where settings say so.
var jupyterLab = frontEnd{
	is:   `!!window.jupyterapp`,
	name: `jupyterapp.name + ' ' + jupyterapp.version`,

	open:    `[...jupyterapp.shell.widgets('main')].find(w => w.context && location.pathname.endsWith('/' + w.context.path))`,
	ready:   `notebook.context.isReady && notebook.content.widgets.length > 0 && notebook.sessionContext.session.kernel.connectionStatus === 'connected'`,
	trusted: `notebook.content.widgets.some(c => c.model.type === 'code' && c.model.trusted)`,
	cells: `notebook.content.widgets.map(c => ({element: c.node, code: c.model.type === 'code',
		number: c.model.executionCount, outputs: c.model.type === 'code' ? c.model.outputs.toJSON() : []}))`,
	execute: `code => notebook.sessionContext.session.kernel.requestExecute({code, silent: true})`,
	clear:   `jupyterapp.shell.activateById(notebook.id); jupyterapp.commands.execute('notebook:clear-all-cell-outputs')`,
	run:     `window.ran = false; jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.ran = true })`,
	ran:     `window.ran && notebook.sessionContext.session.kernel.status === 'idle'`,
	end:     `notebook.sessionContext.shutdown()`,
}

// settings are those of a user's home folder that let the tests see JupyterLab's
// cells, which it otherwise takes off the page where they are not in sight, and
// keep it from saving notebooks and from asking for news.
var settings = map[string]string{
	"jupyter_lab_config.json":      `{"LabApp": {"expose_app_in_browser": true}}`,
	"jupyter_notebook_config.json": `{"JupyterNotebookApp": {"expose_app_in_browser": true}}`,
	"lab/user-settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings":      `{"windowingMode": "none"}`,
	"lab/user-settings/@jupyterlab/docmanager-extension/plugin.jupyterlab-settings":     `{"autosave": false}`,
	"lab/user-settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings": `{"fetchNews": "false", "checkForUpdates": false}`,
}

func writeSettings(t *testing.T, home string) {
	t.Helper()
	for name, text := range settings {
		path := filepath.Join(home, ".jupyter", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// frontEndOf is the one that has drawn a page.
func frontEndOf(t *testing.T, page *rod.Page) frontEnd {
	t.Helper()
	for _, f := range []frontEnd{notebook6, jupyterLab} {
		if r, err := page.Eval("() => " + f.is); err == nil && r.Value.Bool() {
			return f
		}
	}
	t.Fatal("the page is none of Jupyter Notebook 6, or of JupyterLab or Notebook 7 with the application that settings expose")
	return frontEnd{}
}

// expression is one about the open notebook.
func (f frontEnd) expression(of string) string {
	return "(notebook => " + of + ")(" + f.open + ")"
}

// function is one of statements about the open notebook and its cells.
func (f frontEnd) function(statements string) string {
	return "() => { const notebook = " + f.open + ", cells = " + f.cells + "; " + statements + " }"
}
