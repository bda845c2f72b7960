package wire

import (
	"fmt"
	"strings"
)

// Side is a connection's end.
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
	// Kind is the message name in PostgreSQL's documentation, such as Bind.
	Kind string
	// Statement is the SQL that the message is about. Sync and ReadyForQuery are about
	// the last statement before them. It is empty where there is none.
	Statement string
	// Tag is a CommandComplete's command tag.
	Tag string
	// Status is a ReadyForQuery's transaction status: I, T or E.
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
