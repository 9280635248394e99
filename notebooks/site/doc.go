// Package site writes executed notebooks as web pages: one of each notebook,
// and an index with figures and the judged claims. The pages need no network,
// no script and no server, follow the reader's choice of light or dark, and fit
// a phone.
//
// Markdown is rendered as in Jupyter, with formulas as MathML, but raw HTML in
// it is left out. Go cells are coloured by Go's own scanner. Of an output the
// richest form is shown; HTML is reduced to text, tables and lists, so that a
// notebook cannot bring scripts or remote pictures into a page. Pictures become
// files, and what the notebook says in plain text beside one is its alternative
// text.
//
// Links to other notebooks of the site lead to their pages, and so does the
// name of one as code; other files of the repository that are linked are copied
// into the site. A link that leads nowhere is an error.
package site
