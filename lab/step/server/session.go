package server

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Session is a server session.
type Session struct {
	Client  uint32 // the number of the connection that it serves
	Ended   bool
	Replies []Message // not taken yet

	socket   socket
	pid      uint32
	startup  []Message
	prepared map[string]statement
	status   byte // transaction status of the last ReadyForQuery
	unparsed []byte
	chunk    [8192]byte
}

// statement is a prepared one.
type statement struct {
	sql         string
	description []byte // the answers to Describe
}

var errSilent = errors.New("the server does not answer")

// killed is the server's last message before it ends a session.
var killed = Encode(&pgproto3.ErrorResponse{
	Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01", Message: "terminating connection due to administrator command",
})

// Killed returns the session as the client sees it after pg_terminate_backend.
func (b *Session) Killed() *Session {
	return &Session{Ended: true, prepared: b.prepared, Replies: []Message{killed}}
}

// SQL returns a prepared statement's text.
func (b *Session) SQL(name string) string { return b.prepared[name].sql }

// Send sends messages. The client of a session that has ended learns that from the replies.
func (b *Session) Send(raw []byte) {
	if !b.Ended {
		b.socket.write(raw)
	}
}

// Take returns the replies since the last call.
func (b *Session) Take() []Message {
	replies := b.Replies
	b.Replies = nil
	return replies
}

// fill reads replies, and reports whether some came in time.
func (b *Session) fill(wait time.Duration) bool {
	if !b.socket.readable(wait) {
		return false
	}
	n := b.socket.read(b.chunk[:])
	b.unparsed = append(b.unparsed, b.chunk[:n]...)
	for len(b.unparsed) >= 5 {
		size := 1 + int(binary.BigEndian.Uint32(b.unparsed[1:]))
		if len(b.unparsed) < size {
			break
		}
		m := Message(slices.Clone(b.unparsed[:size]))
		b.unparsed = b.unparsed[size:]
		b.Replies = append(b.Replies, m)
		if m.Kind() == 'Z' {
			b.status = m.Body()[0]
		}
	}
	if n == 0 {
		b.Ended = true
		b.socket.close() // by the server already
	}
	return true
}

// hasReply reports whether the last reply is one of these kinds.
func (b *Session) hasReply(kinds string) bool {
	return len(b.Replies) > 0 && strings.IndexByte(kinds, b.Replies[len(b.Replies)-1].Kind()) >= 0
}

// finish waits for a reply of these kinds, or for the end of the session, that no lock can
// delay.
func (b *Session) finish(kinds string) error {
	for !b.Ended && !b.hasReply(kinds) {
		if !b.fill(patience) {
			return errSilent
		}
	}
	return b.sync()
}

// sync waits until a session has released the locks after a failure, if the last reply is the
// error: the server sends that first. Sync would be the next message that it does not ignore.
func (b *Session) sync() error {
	if b.Ended || !b.hasReply("E") {
		return nil
	}
	b.Send(Encode(&pgproto3.Sync{}))
	return b.finish("Z")
}

// Prepare answers messages that only prepare statements. That locks nothing that another
// command waits for, so it is no step.
func (b *Session) Prepare(unit []Message) (replies []byte, err error) {
	for _, m := range unit {
		switch m.Kind() {
		case 'C': // the driver forgets a statement, and the session keeps it
			replies = append(replies, '3', 0, 0, 0, 4)
		case 'P': // a Describe follows
			known, err := b.parse(m)
			if err != nil {
				return nil, err
			}
			if len(b.Replies) > 0 { // of an error
				return append(replies, slices.Concat(b.Take()...)...), nil
			}
			replies = slices.Concat(replies, []byte{'1', 0, 0, 0, 4}, known.description)
		}
	}
	return append(replies, 'Z', 0, 0, 0, 5, b.status), nil
}

// parse prepares a statement unless the session has it. After an error, it leaves the
// replies to the caller.
func (b *Session) parse(m Message) (statement, error) {
	var parse pgproto3.Parse
	if err := parse.Decode(m.Body()); err != nil {
		return statement{}, err
	}
	if known, found := b.prepared[parse.Name]; found {
		return known, nil
	}
	known := statement{sql: parse.Query}
	parse.Query = withoutTimeout(parse.Query)
	raw := Encode(&parse, &pgproto3.Describe{ObjectType: 'S', Name: parse.Name}, &pgproto3.Sync{})
	b.Send(raw)
	if err := b.finish("Z"); err != nil {
		return known, err
	}
	for _, m := range b.Replies {
		switch m.Kind() {
		case 'E':
			return known, nil
		case 't', 'T', 'n':
			known.description = append(known.description, m...)
		}
	}
	b.Take()
	b.prepared[parse.Name] = known
	return known, nil
}

// Parse notes a statement that the client prepares with others, and returns the message for
// the server.
func (b *Session) Parse(m Message) (Message, error) {
	var parse pgproto3.Parse
	if err := parse.Decode(m.Body()); err != nil {
		return nil, err
	}
	b.prepared[parse.Name] = statement{sql: parse.Query}
	parse.Query = withoutTimeout(parse.Query)
	return Encode(&parse), nil
}
