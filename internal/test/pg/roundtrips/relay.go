package roundtrips

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// maxMessage bounds a message of the client, so that a stray byte cannot ask for memory
// without end.
const maxMessage = 64 << 20

// relay passes bytes both ways until one side ends. Of what the client sends, note gets
// the statements of each round trip before they go out.
func relay(client, server net.Conn, note func(Trip)) {
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		_, _ = io.Copy(client, server) // the end of one side is the end of both
		_ = client.Close()
	}()
	s := session{statements: map[string]string{}, note: note}
	_ = s.pass(bufio.NewReader(client), server)
	_ = server.Close()
	<-answers
}

// session follows one connection.
type session struct {
	statements map[string]string // the prepared ones by name
	trip       Trip
	note       func(Trip)
}

// pass reads messages (PostgreSQL's documentation, "Message Formats") and sends them on
// whenever they ask for an answer.
func (s *session) pass(client io.Reader, server io.Writer) error {
	waiting, err := readMessage(client, nil, 0) // the first one has no type
	if err != nil {
		return err
	}
	for {
		if _, err := server.Write(waiting); err != nil {
			return err
		}
		if waiting, err = s.batch(client); err != nil {
			return err
		}
	}
}

// batch reads what the client sends before it waits.
func (s *session) batch(client io.Reader) ([]byte, error) {
	var waiting []byte
	for {
		start := len(waiting)
		longer, err := readMessage(client, waiting, 1)
		if err != nil {
			return nil, err
		}
		waiting = longer
		if s.read(waiting[start], waiting[start+5:]) {
			return waiting, nil
		}
	}
}

// read notes what a message says, and tells whether it asks for an answer.
func (s *session) read(kind byte, body []byte) bool {
	switch kind {
	case 'P': // Parse: name, statement
		name, rest, _ := bytes.Cut(body, []byte{0})
		statement, _, _ := bytes.Cut(rest, []byte{0})
		s.statements[string(name)] = string(statement)
		s.trip = append(s.trip, "parse "+string(statement))
	case 'B': // Bind: portal, name of a statement
		_, rest, _ := bytes.Cut(body, []byte{0})
		name, _, _ := bytes.Cut(rest, []byte{0})
		s.trip = append(s.trip, s.statements[string(name)])
	case 'Q': // Query: any statements
		s.trip = append(s.trip, string(bytes.TrimRight(body, "\x00")))
	}
	switch kind {
	case 'S', 'Q', 'H', 'F', 'c', 'f': // Sync, Query, Flush, FunctionCall, CopyDone, CopyFail
		s.note(s.trip)
		s.trip = nil
		return true
	case 'p', 'X': // a password and Terminate belong to no command
		return true
	}
	return false
}

// readMessage appends one message to buf. Its length is told behind the type, of which
// there are kinds bytes, and counts itself.
func readMessage(r io.Reader, buf []byte, kinds int) ([]byte, error) {
	head := make([]byte, kinds+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[kinds:])
	if length < 4 || length > maxMessage {
		return nil, errors.New("not a message of PostgreSQL's protocol")
	}
	buf = append(buf, head...)
	start := len(buf)
	buf = append(buf, make([]byte, length-4)...)
	_, err := io.ReadFull(r, buf[start:])
	return buf, err
}
