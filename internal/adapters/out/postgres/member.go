package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
	"example.com/orders/internal/panics"
)

// member is a command that runs in a group. Each member keeps its own fate: its response
// and record, its refusal, its deadline.
//
// Its command runs twice. The first run ends at the first load, which only notes what the
// command wants. The second run gets it from what the group has loaded.
type member struct {
	attempt
	ctx    context.Context //nolint:containedctx // of the request that the member is
	queued time.Time
	span   trace.Span // of the wait and of the group

	// mu is held while the command runs, and while its fate is decided.
	mu sync.Mutex
	// answered reports that the fate is final: the group has settled it, or the request has
	// reached its deadline.
	answered bool
	// ran reports that the transaction of the group may commit what the command did.
	ran bool
	// settled is closed when fate is final.
	settled chan struct{}
	fate    fate

	// The group alone uses what follows. draft becomes the fate when the group has ended.
	draft fate
	// wants is what the first load asks for, and asked reports that the second run has
	// asked for it.
	wants want
	asked bool
	// replaces reports that an expired record of the key has to make room.
	replaces bool
	changes  []change
}

// fate is what became of a member.
type fate struct {
	rec      idempotency.Record
	replayed bool
	err      error
	// done reports that the command came to its end in the group: it succeeded, was refused,
	// or failed.
	done bool
	// alone reports that the command must run in a transaction of its own, because it cannot
	// be joined with others or failed with them. It is unjoined if that is because of what it
	// loads or changes.
	alone, unjoined bool
	// held are the rows that the command waited for in vain.
	held []string
}

// want is what the first load of a command asks for. Wants of different members are loaded
// together.
type want interface {
	// rows names what the load locks, as far as that is known before it.
	rows() []string
}

var (
	// errAnswered is the error of a member whose request is gone.
	errAnswered = errors.New("the request has been answered")
	// errNotJoined ends the run of a member that reads or changes what the group has not
	// loaded for it.
	errNotJoined = errors.New("the command cannot be joined with others")
)

// wait waits until the fate of the member is final, or until its deadline.
func (m *member) wait() {
	select {
	case <-m.settled:
	case <-m.ctx.Done():
		m.abandon()
	}
}

// abandon answers the request at its deadline. If the command has run, the group may still
// commit it.
func (m *member) abandon() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answered {
		return
	}
	m.answered = true
	m.fate = fate{err: unavailable(fmt.Errorf("wait for other commands: %w", m.ctx.Err()))}
	if m.ran {
		m.fate = fate{err: fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, m.ctx.Err())}
	}
}

// settle makes the fate of the member final. It reports false if the request is gone.
func (m *member) settle(f fate) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answered {
		return false
	}
	m.answered = true
	m.fate = f
	close(m.settled)
	return true
}

// waiting reports whether the request still waits for its fate.
func (m *member) waiting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.answered
}

// announce runs the command up to its first load.
func (m *member) announce(g *group) {
	result, err := m.try(g)
	if m.wants == nil { // it needed no load, or one that cannot be joined
		m.finish(g, result, err)
	}
}

// execute runs the command on what the group has loaded.
func (m *member) execute(g *group) {
	m.changes = nil
	result, err := m.try(g)
	m.finish(g, result, err)
}

// try calls the command, unless the request is gone. A panic becomes an error: it is this
// member's and nobody else's.
func (m *member) try(g *group) (result idempotency.Result, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answered {
		return idempotency.Result{}, errAnswered
	}
	m.ran = m.wants != nil
	t := &tx{conn: g.tx.conn, db: g.tx.db, now: g.tx.now, member: m, group: g}
	defer func() {
		t.released = true
		m.ran = m.ran || m.wants == nil // a command without a load has run to its end
	}()
	defer panics.Catch(&err)
	return m.run(context.WithValue(m.ctx, txKey{}, t))
}

// finish keeps the result of the command. Only a member that succeeds changes what later
// members find.
func (m *member) finish(g *group, result idempotency.Result, err error) {
	joins := err == nil && !result.Refused
	if joins && !g.holds(m) {
		err = errNotJoined
	}
	if cannotJoin(err) {
		m.draft.alone, m.draft.unjoined = true, errors.Is(err, errNotJoined)
		return
	}
	m.draft.done, m.draft.err = true, err
	if err != nil {
		return
	}
	m.draft.rec = result.Record(m.claim, g.tx.now)
	if joins {
		g.join(m)
	}
	g.records = append(g.records, m)
}

// reset prepares the member for another group.
func (m *member) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ran = false
	m.draft, m.wants, m.asked, m.replaces, m.changes = fate{}, nil, false, false, nil
}
