package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// frontEnd says how the page of a notebook is looked at. The fields are
// expressions in JavaScript; in all of them, notebook is what open gives.
type frontEnd struct {
	address string // of the page of NOTEBOOK

	open    string // the open notebook
	ready   string // whether its kernel is connected
	unsaved string // keeps the page from saving the notebook
	trusted string
	// The cells, each with its element on the page, whether it has code, its
	// number, which is one after it was executed, and its outputs.
	cells   string
	execute string // function that has the kernel execute code of no cell
	run     string // clears all outputs and executes all cells
	ran     string // whether all cells have been executed, or one has failed
	end     string // ends the kernel
}

// notebook6 is Jupyter Notebook 6.
var notebook6 = frontEnd{
	open:    `Jupyter.notebook`,
	ready:   `notebook._fully_loaded && notebook.kernel.is_connected()`,
	unsaved: `notebook.set_autosave_interval(0)`,
	trusted: `notebook.trusted`,
	cells: `notebook.get_cells().map(c => ({element: c.element[0], code: c.cell_type === 'code',
		number: c.input_prompt_number, outputs: c.output_area ? c.output_area.outputs : []}))`,
	execute: `code => notebook.kernel.execute(code, {}, {silent: true})`,
	run:     `notebook.clear_all_output(); notebook.execute_all_cells()`,
	ran: `notebook.kernel_busy === false && notebook.get_cells().every(c =>
		c.cell_type !== 'code' || c.input_prompt_number !== '*' && !c.element.hasClass('running'))`,
	end: `notebook.session.delete()`,
}

// jupyterLab is JupyterLab, and Jupyter Notebook 7, which is made of its parts.
// Its application is to be had on the page where settings say so.
var jupyterLab = frontEnd{
	open:    `[...jupyterapp.shell.widgets('main')].find(w => w.context && location.pathname.endsWith('/' + w.context.path))`,
	ready:   `notebook.context.isReady && notebook.content.widgets.length > 0 && notebook.sessionContext.session.kernel.connectionStatus === 'connected'`,
	trusted: `notebook.content.widgets.some(c => c.model.type === 'code' && c.model.trusted)`,
	cells: `notebook.content.widgets.map(c => ({element: c.node, code: c.model.type === 'code',
		number: c.model.executionCount, outputs: c.model.type === 'code' ? c.model.outputs.toJSON() : []}))`,
	execute: `code => notebook.sessionContext.session.kernel.requestExecute({code, silent: true})`,
	run: `window.ran = false; jupyterapp.shell.activateById(notebook.id);
		jupyterapp.commands.execute('notebook:clear-all-cell-outputs').
			then(() => jupyterapp.commands.execute('notebook:run-all-cells')).then(() => { window.ran = true })`,
	ran: `window.ran && notebook.sessionContext.session.kernel.status === 'idle'`,
	end: `notebook.sessionContext.shutdown()`,
}

// settings are those of a user's home folder that let the tests see JupyterLab's
// cells, which it otherwise takes off the page where they are not in sight, and
// keep it from saving notebooks.
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

// frontEndOf is the one whose folder has the address. Jupyter Notebook tells its
// version when it is asked.
func frontEndOf(t *testing.T, address string) frontEnd {
	t.Helper()
	if before, after, ok := strings.Cut(address, "/lab?"); ok {
		f := jupyterLab
		f.address = before + "/lab/tree/NOTEBOOK?" + after
		return f
	}
	before, after, ok := strings.Cut(address, "/tree?")
	if !ok {
		t.Fatalf("the address of the notebooks is %s", address)
	}
	version, err := exec.Command("jupyter-notebook", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := notebook6
	if !strings.HasPrefix(string(version), "6.") {
		f = jupyterLab
	}
	f.address = before + "/notebooks/NOTEBOOK?" + after
	return f
}

// page is the address of a notebook's page.
func (f frontEnd) page(notebook string) string {
	return strings.Replace(f.address, "NOTEBOOK", notebook, 1)
}

// expression is one about the open notebook.
func (f frontEnd) expression(of string) string {
	return "(notebook => " + of + ")(" + f.open + ")"
}

// function is one of statements about the open notebook and its cells.
func (f frontEnd) function(statements string) string {
	return "() => { const notebook = " + f.open + ", cells = " + f.cells + "; " + statements + " }"
}
