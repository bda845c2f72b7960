package step

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

// attempt is a command in a run.
type attempt struct {
	request
	begun int // step of the first request, from 1

	mu      sync.Mutex
	running int      // requests under way; more than one after a client hung up
	retry   bool     // the client has to send a guarded command again
	answers []string // not in the trace yet
	// outcome and ended, a step, are those of the first answer that decides.
	decided bool
	outcome string
	ended   int
	// failed reports that a command without a key got no such answer, and maybe that it
	// may have happened.
	failed, maybe bool
}

func (a *attempt) isOver() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.decided && a.running == 0
}

// send sends a command's request, for the first time or again.
func (r *run) send(a *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running++
	a.retry = false
	if a.begun == 0 {
		a.begun = len(r.taken)
	}
	r.mu.Lock()
	r.sent[a.id()]++
	r.mu.Unlock()
	s, c := r.services[a.replica], *a.command
	go func() {
		outcome, err := c.perform(context.Background(), s, r.w.of)
		a.end(r, outcome, err)
	}()
}

// hangUp makes the client forget its request, so that it sends it again. The service
// continues.
func (a *attempt) hangUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.retry = true
}

// end records the outcome of a request.
func (a *attempt) end(r *run, outcome string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
	a.answers = append(a.answers, outcome)
	if err != nil {
		a.answers[len(a.answers)-1] = err.Error()
	}
	undecided := errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrOutcomeUnknown) ||
		errors.Is(err, guard.ErrInProgress)
	switch {
	case err != nil && !undecided, r.isDenied(a, err):
		r.found = append(r.found, fmt.Sprintf("%s: %v", a.command, err))
		a.decided = true
	case err != nil && a.key != "":
		a.retry = true
	case err != nil:
		a.decided, a.failed = true, true
		a.maybe = errors.Is(err, core.ErrOutcomeUnknown)
	case a.decided && outcome != a.outcome:
		r.found = append(r.found, fmt.Sprintf("%s was answered %q, and then %q", a.command, a.outcome, outcome))
	case !a.decided:
		a.decided, a.outcome, a.ended = true, outcome, len(r.taken)
	}
}

// isDenied reports whether the only request ever sent under a key is answered with "nothing
// was done" although its response is stored.
func (r *run) isDenied(a *attempt, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrOutcomeUnknown) && r.sent[a.id()] == 1 && r.stored[a.id()]
}
