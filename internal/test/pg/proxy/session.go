package pgproxy

import (
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// session maps each message on a connection to its statement. The server answers requests in
// order, so a queue of unanswered requests suffices.
type session struct {
	mu                  sync.Mutex
	conn, messages      int
	statements, portals map[string]string // SQL by name
	requests            []request
	last                string // the statement of the last request
	status              string // the transaction status
}

// request is a client message that the server answers.
type request struct {
	kind      string
	statement string
}

func newSession(conn int) *session {
	return &session{conn: conn, statements: map[string]string{}, portals: map[string]string{}}
}

// idle reports whether every request is answered, outside any transaction.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests) == 0 && s.status == "I"
}

// read numbers a message and finds its statement.
func (s *session) read(side Side, raw []byte, typeSize int) (Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	m := Message{Conn: s.conn, Number: s.messages, From: side}
	body := raw[typeSize+4:]
	if typeSize == 0 {
		m.Kind = kinds[side][0]
		return m, nil
	}
	m.Kind = kinds[side][raw[0]]
	if side == Client {
		return m, s.readRequest(&m, body)
	}
	s.readAnswer(&m, body)
	return m, nil
}

func (s *session) readRequest(m *Message, body []byte) (err error) {
	if m.Statement, err = s.statementOf(m.Kind, body); err != nil {
		return err
	}
	switch m.Kind {
	case "Parse", "Bind", "Describe", "Execute", "Close", "Query", "FunctionCall", "Sync":
		s.last = m.Statement
		s.requests = append(s.requests, request{m.Kind, m.Statement})
	}
	return nil
}

// statementOf returns the SQL that a client message is about, and keeps the names that it
// defines.
func (s *session) statementOf(kind string, body []byte) (string, error) {
	switch kind {
	case "Parse":
		var m pgproto3.Parse
		err := m.Decode(body)
		s.statements[m.Name] = m.Query
		return m.Query, err
	case "Bind":
		var m pgproto3.Bind
		err := m.Decode(body)
		s.portals[m.DestinationPortal] = s.statements[m.PreparedStatement]
		return s.portals[m.DestinationPortal], err
	case "Describe":
		var m pgproto3.Describe
		err := m.Decode(body)
		return s.named(m.ObjectType, m.Name), err
	case "Close":
		var m pgproto3.Close
		err := m.Decode(body)
		return s.named(m.ObjectType, m.Name), err
	case "Execute":
		var m pgproto3.Execute
		err := m.Decode(body)
		return s.portals[m.Portal], err
	case "Query":
		var m pgproto3.Query
		err := m.Decode(body)
		return m.String, err
	}
	return s.last, nil
}

// named returns the SQL behind a prepared statement or a portal.
func (s *session) named(objectType byte, name string) string {
	if objectType == 'S' {
		return s.statements[name]
	}
	return s.portals[name]
}

// readAnswer finds the request that a server message answers.
func (s *session) readAnswer(m *Message, body []byte) {
	switch m.Kind {
	case "NoticeResponse", "NotificationResponse", "ParameterStatus", "Authentication", "BackendKeyData":
		return // they answer no request
	}
	var asked request
	if len(s.requests) > 0 {
		asked = s.requests[0]
	}
	m.Statement = asked.statement
	switch m.Kind {
	case "CommandComplete":
		m.Tag = strings.TrimRight(string(body), "\x00")
	case "ReadyForQuery":
		m.Status = string(body)
		s.status = m.Status
	case "ErrorResponse":
		s.skip() // the server ignores messages until Sync
		return
	}
	if ends(m.Kind, asked.kind) {
		s.requests = s.requests[1:]
	}
}

// skip drops the requests before the next one that ends with ReadyForQuery.
func (s *session) skip() {
	for len(s.requests) > 0 && !ends("ReadyForQuery", s.requests[0].kind) {
		s.requests = s.requests[1:]
	}
}

// ends reports whether an answer is the last one to a request.
func ends(answer, request string) bool {
	switch answer {
	case "ReadyForQuery":
		return request == "Sync" || request == "Query" || request == "FunctionCall"
	case "ParseComplete":
		return request == "Parse"
	case "BindComplete":
		return request == "Bind"
	case "CloseComplete":
		return request == "Close"
	case "RowDescription", "NoData":
		return request == "Describe"
	case "CommandComplete", "EmptyQueryResponse", "PortalSuspended":
		return request == "Execute"
	}
	return false
}

// Side is the end of a connection.
type Side string

// The sides.
const (
	Client Side = "client"
	Server Side = "server"
)

// Message is a message that is about to be forwarded.
type Message struct {
	// Conn numbers the connection, and Number the message in it, in both directions together.
	// Both count from one.
	Conn, Number int
	// From is the side that sent the message.
	From Side
	// Kind is the message name in the PostgreSQL documentation, such as Bind.
	Kind string
	// Statement is the SQL that the message is about. Sync and ReadyForQuery are about
	// the last statement before them, if there is one.
	Statement string
	// Tag is the command tag of a CommandComplete.
	Tag string
	// Status is the transaction status of a ReadyForQuery: I, T or E.
	Status string
}

// String returns a description that is equal in equal conversations, with the statement's
// first line.
func (m Message) String() string {
	statement, _, _ := strings.Cut(m.Statement, "\n")
	return fmt.Sprintf("%s %s %s: %s", m.From, m.Kind, m.Tag+m.Status, statement)
}

// AnswersCommit reports whether the server says with the message that it has committed.
func (m Message) AnswersCommit() bool { return m.From == Server && m.Tag == "COMMIT" }

// Asks reports whether the client waits for the server after the message.
func (m Message) Asks() bool {
	return m.From == Client && (m.Kind == "Sync" || m.Kind == "Query" || m.Kind == "Flush" ||
		m.Kind == "CopyDone" || m.Kind == "CopyFail" || m.Kind == "FunctionCall")
}

// kinds are the message names by sender and type.
var kinds = map[Side]map[byte]string{
	Client: {
		0: "StartupMessage", 'B': "Bind", 'C': "Close", 'D': "Describe", 'E': "Execute", 'F': "FunctionCall",
		'H': "Flush", 'P': "Parse", 'Q': "Query", 'S': "Sync", 'X': "Terminate", 'p': "PasswordMessage",
		'c': "CopyDone", 'd': "CopyData", 'f': "CopyFail",
	},
	Server: {
		'1': "ParseComplete", '2': "BindComplete", '3': "CloseComplete", 'A': "NotificationResponse",
		'C': "CommandComplete", 'D': "DataRow", 'E': "ErrorResponse", 'G': "CopyInResponse",
		'H': "CopyOutResponse", 'I': "EmptyQueryResponse", 'K': "BackendKeyData", 'N': "NoticeResponse",
		'R': "Authentication", 'S': "ParameterStatus", 'T': "RowDescription", 'V': "FunctionCallResponse",
		'W': "CopyBothResponse", 'Z': "ReadyForQuery", 'c': "CopyDone", 'd': "CopyData", 'n': "NoData",
		's': "PortalSuspended", 't': "ParameterDescription", 'v': "NegotiateProtocolVersion",
	},
}
