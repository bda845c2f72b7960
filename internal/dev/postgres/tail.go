package postgres

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// tailSize is enough for the last lines of a failed start.
const tailSize = 4 << 10

// tail forwards a log and remembers the end, which explains a failed start.
type tail struct {
	next io.Writer
	mu   sync.Mutex
	last []byte
}

// Write never fails: an error would end the server log for good.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if extra := len(t.last) - tailSize; extra > 0 {
		t.last = bytes.Clone(t.last[extra:])
	}
	_, _ = t.next.Write(p)
	return len(p), nil
}

// text returns the remembered lines.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}

// reason returns the lines that explain the end, or all remembered lines if there are
// none.
func (t *tail) reason() string {
	text := t.text()
	var fatal []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "FATAL") || strings.Contains(line, "DETAIL") || strings.Contains(line, "HINT") {
			fatal = append(fatal, strings.TrimSpace(line))
		}
	}
	if len(fatal) == 0 {
		return text
	}
	return strings.Join(fatal, " ")
}
