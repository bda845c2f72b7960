package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/orders/internal/adapters/out/postgres/admission"
	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
)

// queries are the generated queries.
type queries = dbsqlc.Queries

// session is one command's view of a transaction: its stores load and write through it.
// It implements [group.Session].
//
// A command with its transaction to itself loads at once, any number of times. One that
// shares it loads once, together with the others.
type session struct {
	batch *batch
	held  *admission.HeldRows // nil if the command may wait for them
	now   time.Time
	// announced is the first load, and answered reports whether this run has its result.
	announced load
	answered  bool
	changes   []change
	ended     bool
}

// load is a load that commands can share.
type load interface {
	// rows names the rows that the load locks, as far as known before it.
	rows() []string
}

// change is a store call's effect on the batch.
type change interface {
	// join adds the change to the batch, where later commands find it.
	join(b *batch)
}

// statement is a write without a shared form.
type statement struct {
	sql  string
	args []any
}

func (s statement) join(b *batch) { b.statements = append(b.statements, s) }

// sessionKey is the context key for a command's session, so that the InTx of a use case
// joins it.
type sessionKey struct{}

// Bind implements [group.Session].
func (s *session) Bind(ctx context.Context) context.Context {
	s.now, s.answered, s.changes, s.ended = s.batch.tx.Now, false, nil, false
	return context.WithValue(ctx, sessionKey{}, s)
}

// Announced implements [group.Session].
func (s *session) Announced() []string {
	if s.announced == nil {
		return nil
	}
	return s.batch.rows(s.announced)
}

// Blocked implements [group.Session].
func (s *session) Blocked() []string {
	return slices.DeleteFunc(s.Announced(), func(row string) bool { return !strings.HasPrefix(row, s.batch.locking) })
}

// End implements [group.Session].
func (s *session) End() { s.ended = true }

// errAnnounced ends the first run in a shared transaction.
var errAnnounced = errors.New("the load is announced")

// ask loads l and answers it from the batch. In a shared batch, the answer excludes the
// command's earlier writes.
func ask[L load, A any](ctx context.Context, s *session, l L, answer func(L) (A, error)) (A, error) {
	var none A
	switch {
	case s.ended:
		return none, pgtx.ErrReleased
	case !s.batch.shared:
		s.announced = l
		if err := s.flush(ctx); err != nil {
			return none, err
		}
		if err := s.refuseHeld(ctx); err != nil {
			return none, err
		}
		if err := s.batch.load(ctx, l); err != nil {
			return none, err
		}
	case s.answered, len(s.changes) > 0:
		return none, group.ErrNotJoined
	case s.announced == nil:
		s.announced = l
		return none, errAnnounced
	}
	s.answered = true
	return answer(l)
}

// refuseHeld returns an error instead of waiting for a held row in a lane.
func (s *session) refuseHeld(ctx context.Context) error {
	if s.held == nil || s.held.Empty() {
		return nil
	}
	err := s.batch.look(ctx, s.announced)
	if err == nil && s.held.Any(s.Announced()) {
		err = pgtx.ErrRowHeld
	}
	return err
}

// Load runs reads that commands cannot share.
func (s *session) Load(ctx context.Context, reads ...pgtx.Read) error {
	switch {
	case s.ended:
		return pgtx.ErrReleased
	case s.batch.shared:
		return group.ErrNotJoined
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.batch.tx.Load(ctx, reads...)
}

// flush queues the changes so far, so that the next load sees them.
func (s *session) flush(ctx context.Context) error {
	if len(s.changes) == 0 {
		return nil
	}
	if err := s.Keep(); err != nil {
		return err
	}
	s.changes = nil
	return s.batch.Write(ctx)
}

// write adds a change to be written together with those of other commands.
func (s *session) write(c change) error {
	if s.ended {
		return pgtx.ErrReleased
	}
	s.changes = append(s.changes, c)
	return nil
}

// Writes returns the generated queries that write rows for one command.
func (s *session) Writes() *queries {
	return dbsqlc.New(pgtx.Writer(func(sql string, args []any) error { return s.write(statement{sql, args}) }))
}

// NextID implements [core.IDs]. Shared commands use the transaction's
// context: if a member's context ended during the query, that would close the
// connection for all.
func (s *session) NextID(ctx context.Context, of core.Sequence) (int64, error) {
	if s.batch.shared {
		ctx = s.batch.ctx
	}
	return s.batch.ids.Next(ctx, s.batch.tx, of)
}

// store runs use cases in sessions, which view shows them as their ports.
type store[T any] struct {
	db   *DB
	view func(*session) T
}

// InTx runs fn in the transaction in ctx, or in a new one.
func (s store[T]) InTx(ctx context.Context, fn func(context.Context, T) error) error {
	return s.join(ctx, s.db.Write, fn)
}

// Read is InTx without a writer place; see [pgtx.DB.Read].
func (s store[T]) Read(ctx context.Context, fn func(context.Context, T) error) error {
	return s.join(ctx, s.db.Read, fn)
}

// join runs fn in the session in ctx. Without one, it begins a transaction.
func (s store[T]) join(
	ctx context.Context, begin func(context.Context, pgtx.Work) error, fn func(context.Context, T) error,
) error {
	if joined, joins := ctx.Value(sessionKey{}).(*session); joins {
		return fn(ctx, s.view(joined))
	}
	return begin(ctx, func(ctx context.Context, tx *pgtx.Tx) error {
		t := &session{batch: newBatch(ctx, tx, &s.db.ids, false)}
		defer t.End()
		ctx = t.Bind(ctx)
		if err := fn(ctx, s.view(t)); err != nil {
			return err
		}
		return t.flush(ctx)
	})
}
