package nb

import (
	"bytes"
	"fmt"
	"math"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/contextrec/contextrec/notebooks/figure"
)

// Sizes of a figure: on a page, and of one among others in a grid that is as
// wide as a page.
const (
	Width  = 6.4 * vg.Inch
	Height = 4 * vg.Inch

	gridWidth  = 9.6 * vg.Inch
	gridAspect = 0.66 // height of a figure in a grid by its width
	gridGap    = 0.25 * vg.Inch
)

// Show shows a plot of 6.4 x 4 inches. The text alt says what is to be seen, to
// those who cannot see it and where pictures cannot be shown.
func Show(p *plot.Plot, alt string) { ShowSize(p, alt, Width, Height) }

// ShowSize shows a plot of another size. It is drawn with 192 dots an inch,
// which is sharp on every screen, and stored as PNG: SVG is lost in notebooks
// that came from somebody else.
func ShowSize(p *plot.Plot, alt string, width, height vg.Length) {
	var png bytes.Buffer
	Check(figure.Write(&png, p, width, height))
	showPNG(png.Bytes(), alt, width, height)
}

// ShowGrid shows plots beside and below each other, row by row in cols columns,
// as one picture 9.6 inches wide whose axes are aligned. It panics when there
// is no plot or no column.
func ShowGrid(cols int, alt string, plots ...*plot.Plot) {
	if cols < 1 || len(plots) == 0 {
		panic(fmt.Sprintf("nb: a grid of %d plots in %d columns", len(plots), cols))
	}
	rows := (len(plots) + cols - 1) / cols
	grid := make([][]*plot.Plot, rows)
	for i := range grid {
		grid[i] = make([]*plot.Plot, cols)
		copy(grid[i], plots[i*cols:min((i+1)*cols, len(plots))])
	}
	height := vg.Length(rows) * gridWidth / vg.Length(cols) * gridAspect
	c := vgimg.NewWith(vgimg.UseWH(gridWidth, height), vgimg.UseDPI(figure.DPI))
	margin := vg.Points(8)
	tiles := draw.Tiles{
		Rows: rows, Cols: cols,
		PadX: gridGap, PadY: gridGap,
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: margin,
	}
	for i, row := range plot.Align(grid, tiles, draw.New(c)) {
		for j, tile := range row {
			if grid[i][j] != nil {
				grid[i][j].Draw(tile)
			}
		}
	}
	var png bytes.Buffer
	Check(figure.Encode(&png, c))
	showPNG(png.Bytes(), alt, gridWidth, height)
}

func showPNG(png []byte, alt string, width, height vg.Length) {
	pixels := func(l vg.Length) int { return int(math.Round(float64(l / vg.Inch * 96))) } // of CSS
	display(map[protocol.MIMEType]any{
		protocol.MIMEImagePNG:  png,
		protocol.MIMETextPlain: alt,
	}, map[string]any{
		string(protocol.MIMEImagePNG): map[string]int{"width": pixels(width), "height": pixels(height)},
	})
}
