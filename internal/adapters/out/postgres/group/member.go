package group

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/observe/panics"
	"example.com/orders/kit/guard"
)

// member is a command with its key on its way through a transaction. Each member has
// its outcome: a response and record, a refusal, or a deadline.
//
// In a shared transaction, its command runs twice. The first run ends at the first
// load, which only announces its rows. In the second run, the loaded data answers that
// load.
type member struct {
	ctx        context.Context //nolint:containedctx // of the request
	claim      guard.Claim
	run        guard.Command
	generation uint64 // of the recent records, at arrival
	queued     time.Time
	span       trace.Span // covers the wait and the group

	// hadKey reports whether the command held its key in a transaction that was rolled
	// back.
	hadKey bool
	// rowHeld reports whether one of the command's rows is held for long.
	rowHeld bool

	// mu is held while the command runs in a shared group, and while its outcome is
	// decided.
	mu sync.Mutex
	// resolved reports whether the outcome is final, because the group decided it or the
	// request reached its deadline.
	resolved bool
	// ran reports whether the command's writes may be committed.
	ran bool
	// answered is closed when outcome is final.
	answered chan struct{}
	outcome  outcome

	// Only the group uses these. pending becomes the outcome when the group has ended.
	pending outcome
	session Session
	// replaces reports whether the key's expired record must be deleted first.
	replaces bool
}

// outcome is how a member ended.
type outcome struct {
	rec      guard.Record
	replayed bool
	err      error
	// done reports whether the command finished: it succeeded, was refused, or failed.
	done bool
	// leave leaves the lane that the member has to itself.
	leave func()
	// outside reports whether the command must run outside the lanes, because it cannot
	// share a transaction or failed with others. unjoined is the reason ErrNotJoined.
	outside, unjoined bool
	// marked holds the rows marked while the command runs outside.
	marked []string
}

// errAnswered is the error for a member whose request is gone.
var errAnswered = errors.New("the request has been answered")

// wait waits for the member's outcome, or its deadline.
func (m *member) wait() {
	select {
	case <-m.answered:
	case <-m.ctx.Done():
		m.abandon()
	}
}

// abandon answers the request at its deadline. If the command has run, the group may
// still commit it.
func (m *member) abandon() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resolved {
		return
	}
	m.resolved = true
	m.outcome = outcome{err: pgtx.Failed("wait for other commands", m.ctx.Err())}
	if m.ran {
		m.outcome = outcome{err: fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, m.ctx.Err())}
	}
}

// resolve makes the member's outcome final. It reports false if the request is gone.
func (m *member) resolve(f outcome) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resolved {
		return false
	}
	m.resolved = true
	m.outcome = f
	close(m.answered)
	return true
}

// waiting reports whether the request is still waiting.
func (m *member) waiting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.resolved
}

// begin prepares the member for a transaction.
func (m *member) begin(s Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ran = false
	m.pending, m.session, m.replaces = outcome{}, s, false
}

// announced names the rows that the command's first load locks, as far as known.
func (m *member) announced() []string { return m.session.Announced() }

// try runs the command on the loaded data, or up to its first load to announce that. In
// a shared group, a panic becomes an error of this member.
func (m *member) try(g *group, announce bool) (result guard.Result, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resolved && g.shared() {
		return guard.Result{}, errAnswered
	}
	m.ran = !announce
	defer func() {
		m.session.End()
		m.ran = m.ran || m.announced() == nil // a command without a load has finished
	}()
	if g.shared() {
		defer panics.Catch(&err)
	}
	return m.run(m.session.Bind(m.ctx))
}

// finish keeps the command's result. Only a member that succeeds changes the batch for
// later members.
func (m *member) finish(g *group, result guard.Result, err error) {
	if err == nil && !result.Refused {
		err = m.session.Keep()
	}
	if g.shared() && errors.Is(err, ErrNotJoined) {
		m.pending.outside, m.pending.unjoined = true, true
		return
	}
	m.pending.done, m.pending.err = true, err
	if err != nil {
		return
	}
	if result.Refused && !g.shared() {
		g.tx.Discard() // writes sent by a second load
	}
	m.pending.rec = result.Record(m.claim, g.tx.Now)
	g.stored = append(g.stored, m)
}
