package step

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// outside runs everything that needs real time and a real network: the service runs in a
// bubble with a fake clock. Its methods block their caller, which the bubble counts as
// work, so no time passes there.
type outside struct {
	work     chan func()
	done     chan struct{}
	observer *pgx.Conn // of the owner, never part of a run
	network  string
	address  string
	idle     []*backend
	leaving  []*backend // their client is gone, and they may still wait for a lock
	clients  uint32     // until now
}

// patience bounds every answer of the server.
const patience = 20 * time.Second

func newOutside(ctx context.Context, ownerURL string) (*outside, error) {
	observer, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return nil, fmt.Errorf("connect the observer: %w", err)
	}
	o := &outside{work: make(chan func()), done: make(chan struct{}), observer: observer}
	o.network, o.address = pgconn.NetworkAddress(observer.Config().Host, observer.Config().Port)
	go func() {
		for f := range o.work {
			f()
			o.done <- struct{}{}
		}
	}()
	return o, nil
}

// do runs f outside the bubble.
func (o *outside) do(f func()) {
	o.work <- f
	<-o.done
}

func (o *outside) close() {
	for _, b := range slices.Concat(o.idle, o.leaving) {
		_ = b.conn.Close() // the server ends the session
	}
	close(o.work)
	_ = o.observer.Close(context.Background()) // read only
}

// exec runs statements as the owner.
func (o *outside) exec(sql string, args ...any) error {
	_, err := o.observer.Exec(context.Background(), sql, args...)
	return err
}

// column returns a query's only column.
func column[T any](o *outside, sql string, args ...any) ([]T, error) {
	rows, _ := o.observer.Query(context.Background(), sql, args...) // CollectRows returns the error
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// backend is a session of the server. Sessions outlive their clients, with the statements
// that they have prepared, because a new one takes longer than a run.
type backend struct {
	conn     net.Conn
	pid      uint32
	client   uint32 // the number of the connection that it serves
	startup  []message
	prepared map[string]statement
	status   byte // transaction status of the last ReadyForQuery
	unparsed []byte
	chunk    [8192]byte
	replies  []message
	ended    bool
}

// statement is a prepared one.
type statement struct {
	sql         string
	description []byte // the answers to Describe
}

// message is a protocol message with its type and length.
type message []byte

func (m message) kind() byte   { return m[0] }
func (m message) body() []byte { return m[5:] }

func joined(messages []message) []byte { return slices.Concat(messages...) }

// connect returns a session for a startup message, and its answers. They name the client
// where the server names the process, so that a late CancelRequest finds no later client.
func (o *outside) connect(startup message) (b *backend, answers []byte, err error) {
	if n := len(o.idle); n > 0 {
		b, o.idle = o.idle[n-1], o.idle[:n-1]
	} else if b, err = o.newSession(startup); err != nil {
		return nil, nil, err
	}
	o.clients++
	b.client = o.clients
	for _, m := range b.startup {
		if m.kind() == 'K' {
			binary.BigEndian.PutUint32(m.body(), b.client)
		}
	}
	return b, joined(b.startup), nil
}

func (o *outside) newSession(startup message) (*backend, error) {
	conn, err := net.Dial(o.network, o.address) //nolint:noctx // the server is on this machine
	if err != nil {
		return nil, err
	}
	b := &backend{conn: conn, prepared: map[string]statement{}}
	if err := b.send(startup); err != nil {
		return nil, err
	}
	if err := o.finish(b, "Z"); err != nil {
		return nil, err
	}
	b.startup = b.take()
	for _, m := range b.startup {
		if m.kind() == 'K' {
			b.pid = binary.BigEndian.Uint32(m.body())
		}
	}
	return b, nil
}

// cancel cancels a statement that waits for a lock, and waits for a reply of these kinds.
func (o *outside) cancel(b *backend, kinds string) error {
	return errors.Join(o.exec("SELECT pg_cancel_backend($1)", b.pid), o.finish(b, kinds))
}

// leave does to a session what the end of its client does: it rolls back, once it has a lock
// that it waits for. The error ends a transaction that has no BEGIN, and '3' is the last
// answer.
var leave = encode(&pgproto3.Parse{Query: "the client is gone"}, &pgproto3.Sync{},
	&pgproto3.Query{String: "ROLLBACK"}, &pgproto3.Close{ObjectType: 'S'}, &pgproto3.Flush{})

// release keeps a session for later clients. One that is clean has no work under way.
func (o *outside) release(b *backend, clean bool) error {
	switch {
	case b.ended:
		return nil
	case clean && b.status == 'I':
		o.idle = append(o.idle, b)
		return nil
	}
	o.leaving = append(o.leaving, b)
	return b.send(leave)
}

func (b *backend) send(raw []byte) error {
	if b.ended {
		return nil // its client learns that from the replies
	}
	_, err := b.conn.Write(raw)
	if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil // a reset connection still has replies to read
}

// take returns the replies since the last call.
func (b *backend) take() []message {
	replies := b.replies
	b.replies = nil
	return replies
}

// fill reads replies for a while.
func (b *backend) fill(wait time.Duration) {
	_ = b.conn.SetReadDeadline(time.Now().Add(wait)) // Read fails on a closed connection
	n, err := b.conn.Read(b.chunk[:])
	b.unparsed = append(b.unparsed, b.chunk[:n]...)
	for len(b.unparsed) >= 5 {
		size := 1 + int(binary.BigEndian.Uint32(b.unparsed[1:]))
		if len(b.unparsed) < size {
			break
		}
		m := message(slices.Clone(b.unparsed[:size]))
		b.unparsed = b.unparsed[size:]
		b.replies = append(b.replies, m)
		if m.kind() == 'Z' {
			b.status = m.body()[0]
		}
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		b.ended = true
		_ = b.conn.Close() // by the server already
	}
}

// hasReply reports whether the last reply is one of these kinds.
func (b *backend) hasReply(kinds string) bool {
	return len(b.replies) > 0 && strings.IndexByte(kinds, b.replies[len(b.replies)-1].kind()) >= 0
}

// await waits for a reply of these kinds, and reports whether the session waits for a
// lock instead.
func (o *outside) await(b *backend, kinds string) (blocked bool, err error) {
	began := time.Now()
	for wait := 500 * time.Microsecond; ; wait = min(2*wait, 20*time.Millisecond) {
		if !b.hasReply(kinds) {
			b.fill(wait)
		}
		if b.ended || b.hasReply(kinds) {
			return false, o.sync(b)
		}
		waits, err := column[bool](o, "SELECT cardinality(pg_blocking_pids($1)) > 0", b.pid)
		if err != nil || waits[0] {
			return err == nil, err
		}
		if time.Since(began) > patience {
			return false, errors.New("the server does not answer")
		}
	}
}

// finish waits for a reply of these kinds, or for the end of the session, that no lock can
// delay.
func (o *outside) finish(b *backend, kinds string) error {
	for began := time.Now(); !b.ended && !b.hasReply(kinds); {
		if time.Since(began) > patience {
			return errors.New("the server does not answer")
		}
		b.fill(time.Second)
	}
	return o.sync(b)
}

// sync waits until a session has released the locks of what failed, if the last reply is the
// error: the server sends that first. Sync would be the next message that it does not ignore.
func (o *outside) sync(b *backend) error {
	if b.ended || !b.hasReply("E") {
		return nil
	}
	return errors.Join(b.send(encode(&pgproto3.Sync{})), o.finish(b, "Z"))
}

// settleLeaving waits until sessions that lost their client have rolled back, unless they
// wait for a lock. It reports whether one has: that may free another one.
func (o *outside) settleLeaving() (freed bool, err error) {
	var waiting []*backend
	for _, b := range o.leaving {
		blocked, err := o.await(b, "3")
		switch {
		case err != nil:
			return false, err
		case blocked:
			waiting = append(waiting, b)
		case !b.ended:
			b.take()
			o.idle = append(o.idle, b)
		}
	}
	freed = len(waiting) < len(o.leaving)
	o.leaving = waiting
	return freed, nil
}

// prepare answers messages that only prepare statements. That locks nothing that another
// command waits for, so it is no step.
func (o *outside) prepare(b *backend, unit []message) (replies []byte, err error) {
	for _, m := range unit {
		switch m.kind() {
		case 'C': // the driver forgets a statement, and the session keeps it
			replies = append(replies, '3', 0, 0, 0, 4)
		case 'P': // a Describe follows
			known, err := o.parse(b, m)
			if err != nil {
				return nil, err
			}
			if len(b.replies) > 0 { // of an error
				return append(replies, joined(b.take())...), nil
			}
			replies = slices.Concat(replies, []byte{'1', 0, 0, 0, 4}, known.description)
		}
	}
	return append(replies, 'Z', 0, 0, 0, 5, b.status), nil
}

// parse prepares a statement unless the session has it. After an error, it leaves the
// replies to the caller.
func (o *outside) parse(b *backend, m message) (statement, error) {
	var parse pgproto3.Parse
	if err := parse.Decode(m.body()); err != nil {
		return statement{}, err
	}
	if known, found := b.prepared[parse.Name]; found {
		return known, nil
	}
	known := statement{sql: parse.Query}
	parse.Query = withoutTimeout(parse.Query)
	raw := encode(&parse, &pgproto3.Describe{ObjectType: 'S', Name: parse.Name}, &pgproto3.Sync{})
	if err := errors.Join(b.send(raw), o.finish(b, "Z")); err != nil {
		return known, err
	}
	for _, m := range b.replies {
		switch m.kind() {
		case 'E':
			return known, nil
		case 't', 'T', 'n':
			known.description = append(known.description, m...)
		}
	}
	b.take()
	b.prepared[parse.Name] = known
	return known, nil
}

func encode(messages ...pgproto3.Message) (raw []byte) {
	for _, m := range messages {
		raw, _ = m.Encode(raw) // fails only for bodies beyond the protocol's limit
	}
	return raw
}
