package roundtrips

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// maxMessage bounds the size of a message, so that a wrong length does not exhaust
// memory.
const maxMessage = 64 << 20

// forward forwards bytes in both directions until one side closes its connection. It
// calls record with the statements of each round trip before it sends them.
func forward(client, server net.Conn, record func(Trip)) {
	responses := make(chan struct{})
	go func() {
		defer close(responses)
		_, _ = io.Copy(client, server) // an error ends the connection, as its end does
		_ = client.Close()
	}()
	s := session{statements: map[string]string{}, record: record}
	_ = s.forward(bufio.NewReader(client), server)
	_ = server.Close()
	<-responses
}

// session is the state of one connection.
type session struct {
	statements map[string]string // prepared statements by name
	trip       Trip              // what the client has sent since the last one
	record     func(Trip)
}

// forward reads messages (PostgreSQL's documentation, "Message Formats") and forwards
// them when one requests a response.
func (s *session) forward(client io.Reader, server io.Writer) error {
	batch, err := readMessage(client, nil, 0) // the first message has no type
	if err != nil {
		return err
	}
	for {
		if _, err := server.Write(batch); err != nil {
			return err
		}
		if batch, err = s.readBatch(client); err != nil {
			return err
		}
	}
}

// readBatch reads what the client sends before it waits.
func (s *session) readBatch(client io.Reader) (batch []byte, err error) {
	for {
		start := len(batch)
		if batch, err = readMessage(client, batch, 1); err != nil {
			return nil, err
		}
		if s.parse(batch[start], batch[start+5:]) {
			return batch, nil
		}
	}
}

// parse adds the statements of a message to the trip. It reports whether the message
// requests a response.
func (s *session) parse(kind byte, body []byte) bool {
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
		s.record(s.trip)
		s.trip = nil
		return true
	case 'p', 'X': // password, Terminate: no trip of a command
		return true
	}
	return false
}

// readMessage appends one message to buf. A message starts with its type, of typeSize
// bytes, and its length, which includes the four bytes of the length itself.
func readMessage(r io.Reader, buf []byte, typeSize int) ([]byte, error) {
	head := make([]byte, typeSize+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[typeSize:])
	if length < 4 || length > maxMessage {
		return nil, errors.New("not a PostgreSQL message")
	}
	buf = append(buf, head...)
	start := len(buf)
	buf = append(buf, make([]byte, length-4)...)
	_, err := io.ReadFull(r, buf[start:])
	return buf, err
}
