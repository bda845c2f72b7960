package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/go-analyze/charts"
)

// picture is what is drawn: panels on a grid of 24 columns, as in Grafana.
type picture struct {
	Title  string
	Times  []string // of the values
	Panels []panel
}

// panel is a panel of the dashboard with its data. A row has a title only.
type panel struct {
	Title, Type, Unit string
	GridPos           struct{ X, Y, W, H int }
	Stacked           bool
	// Texts are written instead of these values.
	Texts  map[string]string
	Series []line
}

// line is a series of a panel. A null is a gap.
type line struct {
	Name   string
	Values []*float64
}

const (
	column, rowHeight = 62, 27 // pixels of a cell of the grid
	header            = 30     // pixels of the title of the picture
	maxLines          = 12     // lines of a panel; smaller ones are left out, and the legend says so
)

// draw draws the panels of a file into a PNG.
func draw(file, data string) error {
	var p picture
	if err := readJSON(data, &p); err != nil {
		return err
	}
	height := 0
	for _, one := range p.Panels {
		height = max(height, one.GridPos.Y+one.GridPos.H)
	}
	canvas := charts.NewPainter(charts.PainterOptions{
		Width: 24 * column, Height: header + height*rowHeight, Theme: charts.GetTheme(charts.ThemeLight),
	})
	canvas.FilledRect(0, 0, canvas.Width(), canvas.Height(), charts.ColorWhite, charts.ColorWhite, 0)
	canvas.Text(p.Title, 10, 20, 0, charts.FontStyle{FontSize: 12, FontColor: charts.ColorBlack})
	for _, one := range p.Panels {
		if err := one.draw(canvas, p.Times); err != nil {
			return fmt.Errorf("%s: %w", one.Title, err)
		}
	}
	image, err := canvas.Bytes()
	if err != nil {
		return err
	}
	return os.WriteFile(file, image, 0o644)
}

func (p panel) draw(canvas *charts.Painter, times []string) error {
	left, top := p.GridPos.X*column, header+p.GridPos.Y*rowHeight
	right, bottom := left+p.GridPos.W*column, top+p.GridPos.H*rowHeight
	if p.Type == "row" {
		canvas.Text(p.Title, left+6, top+19, 0, charts.FontStyle{FontSize: 12, FontColor: charts.ColorBlack})
		return nil
	}
	canvas.FilledRect(left+3, top+3, right-3, bottom-3, charts.ColorWhite, charts.ColorRGB(200, 200, 200), 1)
	canvas.Text(p.Title, left+12, top+20, 0, charts.FontStyle{FontSize: 10, FontColor: charts.ColorBlack})
	box := charts.NewBox(left+10, top+26, right-10, bottom-6)
	inner := canvas.Child(charts.PainterBoxOption(box))
	switch {
	case len(p.Series) == 0:
		inner.Text("no data", 4, 30, 0, charts.FontStyle{FontSize: 10, FontColor: charts.ColorRGB(150, 150, 150)})
		return nil
	case p.Type == "stat":
		p.drawStat(inner)
		return nil
	default:
		return p.drawLines(canvas, box, times)
	}
}

// drawStat writes the last value of each series.
func (p panel) drawStat(canvas *charts.Painter) {
	for i, s := range p.Series {
		text := format(p.Unit)(last(s.Values))
		if instead := p.Texts[text]; instead != "" {
			text = instead
		}
		if s.Name != "" {
			text += "  " + s.Name
		}
		canvas.Text(text, 10, 40+26*i, 0, charts.FontStyle{FontSize: 17, FontColor: charts.ColorRGB(30, 90, 160)})
	}
}

func last(values []*float64) float64 {
	for _, v := range slices.Backward(values) {
		if v != nil {
			return *v
		}
	}
	return math.NaN()
}

// drawLines draws a legend in a part of the canvas, and below it the series.
func (p panel) drawLines(canvas *charts.Painter, box charts.Box, times []string) error {
	var values [][]float64
	var names []string
	drawn := p.Series
	if len(drawn) > maxLines {
		slices.SortStableFunc(drawn, func(a, b line) int { return cmp.Compare(last(b.Values), last(a.Values)) })
		drawn = drawn[:maxLines]
		drawn[maxLines-1].Name += fmt.Sprintf(" (%d smaller ones are not drawn)", len(p.Series)-maxLines)
	}
	for _, s := range drawn {
		points := make([]float64, len(s.Values))
		for j, v := range s.Values {
			points[j] = charts.GetNullValue()
			if v != nil {
				points[j] = *v
			} else if p.Stacked {
				points[j] = 0
			}
		}
		values, names = append(values, points), append(names, s.Name)
	}
	small := charts.FontStyle{FontSize: 7.5}
	opt := charts.NewLineChartOptionWithData(values)
	opt.Theme = charts.GetTheme(charts.ThemeLight)
	opt.Padding = charts.NewBox(4, 8, 10, 2)
	opt.Symbol.Shape = charts.SymbolNone
	opt.LineStrokeWidth = 1.4
	opt.StackSeries = new(p.Stacked)
	opt.XAxis = charts.XAxisOption{Labels: times, LabelCount: 5, LabelFontStyle: small, BoundaryGap: new(false)}
	opt.YAxis = []charts.YAxisOption{{
		Min: new(0.0), Max: highest(values, p.Stacked), LabelCount: 4, LabelFontStyle: small, ValueFormatter: format(p.Unit),
	}}
	opt.Legend.Show = new(false)
	box.Top += drawLegend(canvas.Child(charts.PainterBoxOption(box)), opt.Theme, names)
	return canvas.Child(charts.PainterBoxOption(box)).LineChart(opt)
}

// drawLegend writes the names of lines in their colours, and returns how high that is.
func drawLegend(canvas *charts.Painter, theme charts.ColorPalette, names []string) (height int) {
	const lineHeight, gap = 13, 26 // pixels
	x, y := 4, lineHeight
	for i, name := range names {
		style := charts.FontStyle{FontSize: 7.5, FontColor: charts.ColorRGB(70, 70, 70)}
		width := canvas.MeasureText(name, 0, style).Width()
		if x > 4 && x+14+width > canvas.Width() {
			x, y = 4, y+lineHeight
		}
		color := theme.GetSeriesColor(i)
		canvas.FilledRect(x, y-8, x+10, y, color, color, 0)
		canvas.Text(name, x+14, y, 0, style)
		x += width + gap
	}
	return y + 6
}

// highest returns the end of the axis for values, nil if they are all 0.
func highest(values [][]float64, stacked bool) *float64 {
	most := 0.0
	for i := range values[0] {
		sum := 0.0
		for _, points := range values {
			if points[i] != charts.GetNullValue() {
				most, sum = max(most, points[i]), sum+points[i]
			}
		}
		if stacked {
			most = max(most, sum)
		}
	}
	if most == 0 {
		return nil
	}
	return new(most * 1.1)
}

// format returns how Grafana writes numbers of a unit, about.
func format(unit string) func(float64) string {
	scale := func(v float64, step float64, suffixes ...string) string {
		i := 0
		for ; v >= step && i < len(suffixes)-1; i++ {
			v /= step
		}
		return short(v) + suffixes[i]
	}
	return func(v float64) string {
		switch {
		case math.IsNaN(v):
			return "no data"
		case unit == "s" && v >= 60:
			return short(v/60) + " min"
		case unit == "s" && v < 1:
			return short(v*1000) + " ms"
		case unit == "s":
			return short(v) + " s"
		case unit == "percentunit":
			return short(v*100) + " %"
		case unit == "bytes":
			return scale(v, 1024, " B", " KiB", " MiB", " GiB")
		case unit == "reqps" || unit == "ops":
			return scale(v, 1000, "/s", "k/s")
		default:
			return scale(v, 1000, "", "k", "M")
		}
	}
}

// short writes a number with three digits.
func short(v float64) string {
	text := fmt.Sprintf("%.3g", v)
	if strings.Contains(text, "e") {
		return fmt.Sprintf("%.0f", v)
	}
	return text
}
