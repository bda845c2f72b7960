package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

// newConsole returns a writer that prints lines for people who watch a terminal. The line
// of a request begins with its status, method, route and duration, and ends with its ID.
func newConsole(out io.Writer, colored bool) zerolog.ConsoleWriter {
	c := console{colored}
	return zerolog.ConsoleWriter{
		Out: out, TimeFormat: time.TimeOnly, NoColor: !colored,
		PartsOrder:    []string{zerolog.TimestampFieldName, zerolog.MessageFieldName},
		FieldsExclude: []string{requestIDField},
		FormatPrepare: c.prepare, FormatExtra: appendRequestID,
	}
}

// isTerminal reports whether people see what is written to out.
func isTerminal(out io.Writer) bool {
	file, _ := out.(*os.File)
	return file != nil && isatty.IsTerminal(file.Fd())
}

// requestIDField is the ID of a request in its line.
const requestIDField = "request_id"

// The codes of colors in a terminal.
const (
	red    = 31
	green  = 32
	yellow = 33
)

type console struct{ colored bool }

// prepare makes the beginning of a line, which comes after the time.
func (c console) prepare(line map[string]any) error {
	status, ok := line["status"].(json.Number)
	if !ok {
		level, _ := zerolog.ParseLevel(fmt.Sprint(line[zerolog.LevelFieldName]))
		label := c.paint(zerolog.FormattedLevels[level], zerolog.LevelColors[level])
		line[zerolog.MessageFieldName] = fmt.Sprintf("%s %s", label, line[zerolog.MessageFieldName])
		return nil
	}
	took, _ := line["duration_ms"].(json.Number)
	ms, _ := took.Float64()
	route := line["route"]
	if route == "" {
		route = "(no route)"
	}
	label := c.paint(status.String(), colorOf(status.String()))
	line[zerolog.MessageFieldName] = fmt.Sprintf("%s %s %s %.1fms", label, line["method"], route, ms)
	for _, shown := range []string{"status", "method", "route", "duration_ms"} {
		delete(line, shown)
	}
	return nil
}

// colorOf returns the color of a status.
func colorOf(status string) int {
	switch {
	case status >= "500":
		return red
	case status >= "400":
		return yellow
	}
	return green
}

func (c console) paint(text string, color int) string {
	if !c.colored {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, text)
}

func appendRequestID(line map[string]any, out *bytes.Buffer) error {
	if id, found := line[requestIDField]; found {
		_, _ = fmt.Fprintf(out, " %s=%s", requestIDField, id)
	}
	return nil
}
