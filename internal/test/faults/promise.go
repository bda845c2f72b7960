package faults

import (
	"fmt"
	"slices"

	"example.com/orders/internal/test/history"
)

// mostPromises bounds the promises that are remembered.
const mostPromises = 50

// promise is a command whose stored response a client knows.
type promise struct {
	op    operation
	first history.Attempt
}

// notePromise remembers the last commands whose response is stored. Nobody makes their
// records expire.
func (l *Load) notePromise(op operation, first history.Attempt) {
	if first.Result == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promises = append(l.promises, promise{op, first})
	l.promises = l.promises[max(0, len(l.promises)-mostPromises):]
}

// wantPromisesKept checks the promises.
func (l *Load) wantPromisesKept() {
	l.t.Helper()
	for _, broken := range l.brokenPromises() {
		l.t.Error(broken)
	}
}

// brokenPromises sends the last commands again, and looks them up. It returns those that are
// not replayed with the bytes of their first response, or that a look-up does not report.
func (l *Load) brokenPromises() (broken []string) {
	l.mu.Lock()
	promises := slices.Clone(l.promises)
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
