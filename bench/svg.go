package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Each row shows one command, with throughput on the left and latency on the right.
// Both are plotted against the number of connections.
const (
	panelWidth, panelHeight = 340, 170
	gapX, gapY              = 90, 100
	marginX, marginY        = 70, 60
)

// style uses colours that are readable on light and dark backgrounds.
const style = `
text { font: 12px system-ui, sans-serif; fill: #6e7781 }
.title { font-weight: 600 }
.axis { stroke: #8c959f; stroke-width: 1 }
.grid { stroke: #8c959f; stroke-opacity: .25 }
.line { fill: none; stroke-width: 2 }
.baseline { stroke: #8c959f } circle.baseline { fill: #8c959f }
.service { stroke: #2f81f7 } circle.service { fill: #2f81f7 }
.p50 { stroke: #2da44e } circle.p50 { fill: #2da44e }
.p99 { stroke: #d4762c } circle.p99 { fill: #d4762c }
`

// curve is one line of a panel, with one value per number of connections.
type curve struct {
	name   string // also its CSS class
	values []float64
}

// panel is one diagram.
type panel struct {
	title, unit string
	curves      []curve
}

// drawAll returns an SVG image of the commands that were measured at every number of
// connections.
func drawAll(all []*series, connections []int) []byte {
	rows := rowsOf(all, connections)
	width := 2*marginX + 2*panelWidth + gapX
	height := marginY + len(rows)*(panelHeight+gapY)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`,
		width, height)
	fmt.Fprintf(&b, "<title>%s</title><style>%s</style>\n",
		"Throughput and latency by number of connections", style)
	for i, row := range rows {
		y := marginY + i*(panelHeight+gapY)
		row[0].draw(&b, marginX, y, connections)
		row[1].draw(&b, marginX+panelWidth+gapX, y, connections)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// rowsOf returns two panels for each of these commands.
func rowsOf(all []*series, connections []int) [][2]panel {
	var rows [][2]panel
	for len(all) > 0 {
		name := all[0].command.name
		var measured []int
		for _, s := range all {
			if s.command.name == name {
				measured = append(measured, s.connections)
			}
		}
		n := len(measured)
		if slices.Equal(measured, connections) {
			rows = append(rows, [2]panel{throughput(name, all[:n]), latency(name, all[:n])})
		}
		all = all[n:]
	}
	return rows
}

func throughput(name string, all []*series) panel {
	baseline, service := curve{name: "baseline"}, curve{name: "service"}
	for _, s := range all {
		baseline.values = append(baseline.values, medianOf(s.baseline, rateOf))
		service.values = append(service.values, medianOf(s.service, rateOf))
	}
	return panel{name + ": throughput", "requests/s", []curve{baseline, service}}
}

func latency(name string, all []*series) panel {
	p50, p99 := curve{name: "p50"}, curve{name: "p99"}
	for _, s := range all {
		p50.values = append(p50.values, medianOf(s.service, p50Of))
		p99.values = append(p99.values, medianOf(s.service, p99Of))
	}
	return panel{name + ": latency of the service", "ms", []curve{p50, p99}}
}

// draw draws the panel with its upper left corner at x, y.
func (p panel) draw(b *bytes.Buffer, x, y int, connections []int) {
	top := axisEnd(p.highest())
	fmt.Fprintf(b, `<g transform="translate(%d %d)">`, x, y)
	fmt.Fprintf(b, `<text class="title" x="0" y="-28">%s</text><text x="0" y="-10">%s</text>`,
		escape(p.title), escape(p.unit))
	drawAxes(b, top, connections)
	for i, c := range p.curves {
		c.draw(b, top)
		c.drawLegend(b, panelWidth-140+76*i)
	}
	b.WriteString("</g>\n")
}

func drawAxes(b *bytes.Buffer, top float64, connections []int) {
	for i := range 5 {
		level := float64(panelHeight) * float64(i) / 4
		fmt.Fprintf(b, `<line class="grid" x1="0" x2="%d" y1="%.1f" y2="%.1[2]f"/>`,
			panelWidth, level)
		fmt.Fprintf(b, `<text x="-8" y="%.0f" text-anchor="end">%s</text>`,
			level+4, axisLabel(top*float64(4-i)/4))
	}
	for i, n := range connections {
		fmt.Fprintf(b, `<text x="%.0f" y="%d" text-anchor="middle">%d</text>`,
			xOf(i, len(connections)), panelHeight+18, n)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">connections</text>`,
		panelWidth/2, panelHeight+34)
	fmt.Fprintf(b, `<path class="axis" fill="none" d="M0 0V%d H%d"/>`, panelHeight, panelWidth)
}

func (c curve) drawLegend(b *bytes.Buffer, x int) {
	fmt.Fprintf(b, `<circle class="%s" cx="%d" cy="-14" r="4"/>`, c.name, x)
	fmt.Fprintf(b, `<text x="%d" y="-10">%s</text>`, x+10, escape(c.name))
}

func (p panel) highest() float64 {
	highest := 0.0
	for _, c := range p.curves {
		for _, v := range c.values {
			highest = max(highest, v)
		}
	}
	return highest
}

func (c curve) draw(b *bytes.Buffer, top float64) {
	points := make([]string, len(c.values))
	for i, v := range c.values {
		x, y := xOf(i, len(c.values)), panelHeight*(1-v/top)
		points[i] = fmt.Sprintf("%.1f,%.1f", x, y)
		fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="3"/>`, c.name, x, y)
	}
	fmt.Fprintf(b, `<polyline class="line %s" points="%s"/>`,
		c.name, strings.Join(points, " "))
}

// xOf spaces the numbers of connections evenly, because each is a multiple of the last.
func xOf(i, n int) float64 { return panelWidth * (float64(i) + 0.5) / float64(n) }

// axisEnd returns the end of an axis: 1, 2, 4, 6 or 8 times a power of ten.
func axisEnd(highest float64) float64 {
	if highest <= 0 || math.IsInf(highest, 0) || math.IsNaN(highest) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, n := range []float64{1, 2, 4, 6, 8} {
		if highest <= n*power {
			return n * power
		}
	}
	return 10 * power
}

func axisLabel(v float64) string {
	if v >= 10_000 {
		return fmt.Sprintf("%gk", v/1000)
	}
	return fmt.Sprintf("%g", math.Round(v*1000)/1000)
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder never fails
	return b.String()
}
