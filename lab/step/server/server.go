// Package server stands between a client and PostgreSQL. The client has connections, and
// the server sessions. These outlive their clients, with the statements that they have
// prepared, because a new one takes longer than a run.
//
// Sessions are read and written with system calls that the Go scheduler does not see: a
// goroutine that waits in the network poller costs as much as the statement that it waits
// for, and in a bubble of testing/synctest its deadline would be on the fake clock.
package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Server is a PostgreSQL server.
type Server struct {
	Idle    []*Session
	Leaving []*Session // their client is gone, and they may still wait for a lock

	network, address string
	observer         *Session // of the owner, never part of a run
	clients          uint32   // until now
}

// patience bounds every server answer.
const patience = 20 * time.Second

// Open connects as the owner.
func Open(ownerURL string) (*Server, error) {
	config, err := pgconn.ParseConfig(ownerURL)
	if err != nil {
		return nil, err
	}
	s := &Server{}
	s.network, s.address = pgconn.NetworkAddress(config.Host, config.Port)
	s.observer, err = s.newSession(Startup(config.User, config.Database))
	return s, err
}

// Startup returns a connection's first message.
func Startup(user, database string) Message {
	return Encode(&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": user, "database": database},
	})
}

// Close ends all sessions.
func (s *Server) Close() {
	for _, b := range append(slices.Concat(s.Idle, s.Leaving), s.observer) {
		b.socket.close() // the server ends the session
	}
}

// Query runs statements as the owner, and returns their rows.
func (s *Server) Query(format string, args ...any) (rows []string, err error) {
	query := Encode(&pgproto3.Query{String: fmt.Sprintf(format, args...)})
	s.observer.Send(query)
	if err := s.observer.finish("Z"); err != nil {
		return nil, err
	}
	for _, m := range s.observer.Take() {
		switch m.Kind() {
		case 'D':
			var row pgproto3.DataRow
			err = errors.Join(err, row.Decode(m.Body()))
			rows = append(rows, string(bytes.Join(row.Values, []byte(": "))))
		case 'E':
			var e pgproto3.ErrorResponse
			err = errors.Join(err, e.Decode(m.Body()), fmt.Errorf("%s: %.200s", e.Message, query.Body()))
		}
	}
	return rows, err
}

// Connect returns a session for a startup message, and its answers. They name the client
// where the server names the process, so that a late CancelRequest finds no later client.
func (s *Server) Connect(startup Message) (b *Session, answers []byte, err error) {
	if n := len(s.Idle); n > 0 {
		b, s.Idle = s.Idle[n-1], s.Idle[:n-1]
	} else if b, err = s.newSession(startup); err != nil {
		return nil, nil, err
	}
	s.clients++
	b.Client = s.clients
	for _, m := range b.startup {
		if m.Kind() == 'K' {
			binary.BigEndian.PutUint32(m.Body(), b.Client)
		}
	}
	return b, slices.Concat(b.startup...), nil
}

func (s *Server) newSession(startup Message) (*Session, error) {
	socket, err := dial(s.network, s.address)
	if err != nil {
		return nil, err
	}
	b := &Session{socket: socket, prepared: map[string]statement{}}
	b.Send(startup)
	if err := b.finish("Z"); err != nil {
		return nil, err
	}
	b.startup = b.Take()
	for _, m := range b.startup {
		if m.Kind() == 'K' {
			b.pid = binary.BigEndian.Uint32(m.Body())
		}
	}
	return b, nil
}

// Await waits for a reply of these kinds, and reports whether the session waits for a
// lock instead.
func (s *Server) Await(b *Session, kinds string) (blocked bool, err error) {
	for wait, waited := 500*time.Microsecond, time.Duration(0); ; wait = min(2*wait, 20*time.Millisecond) {
		for !b.Ended && !b.hasReply(kinds) && b.fill(wait) {
		}
		if b.Ended || b.hasReply(kinds) {
			return false, b.sync()
		}
		waits, err := s.Query("SELECT cardinality(pg_blocking_pids(%d)) > 0", b.pid)
		if err != nil || waits[0] == "t" {
			return err == nil, err
		}
		if waited += wait; waited > patience {
			return false, errSilent
		}
	}
}

// Cancel cancels a statement that waits for a lock, and waits for a reply of these kinds.
func (s *Server) Cancel(b *Session, kinds string) error {
	_, err := s.Query("SELECT pg_cancel_backend(%d)", b.pid)
	return errors.Join(err, b.finish(kinds))
}

// leave ends a session as the loss of its client does: it rolls back, once it has a lock
// that it waits for. The error ends a transaction that has no BEGIN, and '3' is the last
// answer.
var leave = Encode(&pgproto3.Parse{Query: "the client is gone"}, &pgproto3.Sync{},
	&pgproto3.Query{String: "ROLLBACK"}, &pgproto3.Close{ObjectType: 'S'}, &pgproto3.Flush{})

// Release keeps a session for later clients. One that is clean has no work under way.
func (s *Server) Release(b *Session, clean bool) {
	switch {
	case b.Ended:
	case clean && b.status == 'I':
		s.Idle = append(s.Idle, b)
	default:
		s.Leaving = append(s.Leaving, b)
		b.Send(leave)
	}
}

// SettleLeaving waits until sessions that lost their client have rolled back, unless they
// wait for a lock. It reports whether one has: that may free another one.
func (s *Server) SettleLeaving() (freed bool, err error) {
	var waiting []*Session
	for _, b := range s.Leaving {
		blocked, err := s.Await(b, "3")
		switch {
		case err != nil:
			return false, err
		case blocked:
			waiting = append(waiting, b)
		case !b.Ended:
			b.Take()
			s.Idle = append(s.Idle, b)
		}
	}
	freed = len(waiting) < len(s.Leaving)
	s.Leaving = waiting
	return freed, nil
}
