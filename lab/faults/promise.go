package faults

import (
	"fmt"
	"slices"

	"example.com/orders/lab/history"
)

// mostPromises bounds the promises that are checked at a time.
const mostPromises = 50

// promise is a command with a stored response that a client knows.
type promise struct {
	op    operation
	first history.Attempt
}

// notePromise remembers a command with a stored response. No client makes its record
// expire.
func (l *Load) notePromise(op operation, first history.Attempt) {
	if first.Result == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promises = append(l.promises, promise{op, first})
}

// wantPromisesKept checks the last promises.
func (l *Load) wantPromisesKept() {
	l.t.Helper()
	for _, broken := range l.brokenPromises() {
		l.t.Error(broken)
	}
}

// brokenPromises resends the last commands and looks them up. It returns those that are
// not replayed byte by byte, or that a lookup does not report.
func (l *Load) brokenPromises() (broken []string) {
	l.mu.Lock()
	promises := slices.Clone(l.promises[max(0, len(l.promises)-mostPromises):])
	l.mu.Unlock()
	c := l.newClient(checker)
	for _, p := range promises {
		found := c.finish(lookUp(p.op, p.op.subject, p.op.role)).Record
		if found == nil || found.State != "completed" || found.Status != p.first.Status {
			broken = append(broken, fmt.Sprintf("a key that was answered is completed (I5), but:\n%v\n%v", p.first, found))
		}
		if again := c.finish(p.op); again.Result != "reused" || again.Response != p.first.Response {
			broken = append(broken, fmt.Sprintf("a stored response is replayed (I3), but:\n%v\n%v", p.first, again))
		}
		l.Counters.Add(promisesChecked, 1)
	}
	return broken
}
