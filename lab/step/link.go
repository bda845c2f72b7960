package step

import (
	"bufio"
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5/pgproto3"

	pgproxy "example.com/orders/internal/test/pg/proxy"
)

// link is a connection of the service. Its messages wait here in both directions.
type link struct {
	name    string // such as a1: the first connection of replica a
	service net.Conn
	backend *backend // nil before the startup message
	// withheld are the server's replies to the last round trip, and asked the label of
	// their request.
	withheld []message
	asked    string
	// ends are the replies that end the statement under way. blocked reports that it waits
	// for a lock, and limited that its transaction has a lock timeout.
	ends     string
	blocked  bool
	limited  bool
	skipping bool // after an error, until Sync, whose answer is ready
	ready    message

	mu      sync.Mutex
	pending []message // from the service; the first one has no type, and gets 0
	closed  bool      // by the service
}

// read collects the service's messages until it closes the connection.
func (l *link) read() {
	messages := bufio.NewReader(l.service)
	for typeSize := 0; ; typeSize = 1 {
		raw, err := pgproxy.ReadMessage(messages, typeSize)
		l.mu.Lock()
		if err != nil {
			l.closed = true
			l.mu.Unlock()
			return
		}
		l.pending = append(l.pending, slices.Concat(make(message, 1-typeSize), raw))
		l.mu.Unlock()
	}
}

// next returns the messages of the next step, and whether it is only preparation: the
// messages up to an Execute, and a Sync behind it.
func (l *link) next() (unit []message, preparation bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	executes := false
	for i, m := range l.pending {
		switch m.kind() {
		case 0, 'X':
			return slices.Clone(l.pending[:i+1]), true
		case 'Q':
			return slices.Clone(l.pending[:i+1]), false
		case 'S':
			return slices.Clone(l.pending[:i+1]), !executes && !l.skipping
		case 'E':
			executes = true
			if l.skipping { // the server ignores everything until Sync
				continue
			}
			if i+1 < len(l.pending) && l.pending[i+1].kind() == 'S' {
				i++
			}
			return slices.Clone(l.pending[:i+1]), false
		}
	}
	return nil, false
}

// drop removes messages that have been processed.
func (l *link) drop(unit []message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = slices.Delete(l.pending, 0, len(unit))
}

func (l *link) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// conn is the service's end of a link. It breaks with the errors of a socket.
type conn struct{ net.Conn }

// Read implements [net.Conn].
func (c conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, asBroken("read", err)
}

// Write implements [net.Conn].
func (c conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, asBroken("write", err)
}

func asBroken(op string, err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNRESET}
	}
	return err
}

// deliver hands replies to the service. It returns before they are read.
func (l *link) deliver(raw []byte) {
	go func() { _, _ = l.service.Write(raw) }() // fails if the service has closed the connection
}

// begin sends a step's messages to the server.
func (l *link) begin(unit []message) error {
	if l.skipping {
		l.skipping, l.asked, l.ends, l.backend.replies = false, "Sync", "Z", []message{l.ready}
		l.drop(unit)
		return nil
	}
	var raw []byte
	l.ends = "CIsE"
	for _, m := range unit {
		switch m.kind() {
		case 'B':
			var bind pgproto3.Bind
			if err := bind.Decode(m.body()); err != nil {
				return err
			}
			sql := l.backend.prepared[bind.PreparedStatement].sql
			l.asked = label(sql)
			var limited bool
			m, limited = bindWithoutTimeout(m, sql)
			l.limited = l.limited || limited
		case 'P':
			var parse pgproto3.Parse
			if err := parse.Decode(m.body()); err != nil {
				return err
			}
			l.backend.prepared[parse.Name] = statement{sql: parse.Query}
			parse.Query = withoutTimeout(parse.Query)
			m = encode(&parse)
		case 'Q':
			l.asked = label(strings.TrimRight(string(m.body()), "\x00"))
			l.ends = "Z"
		case 'S':
			l.ends = "Z"
		}
		raw = append(raw, m...)
	}
	if l.ends != "Z" {
		raw = append(raw, 'H', 0, 0, 0, 4) // Flush
	}
	l.drop(unit)
	return l.backend.send(raw)
}

// collect takes the replies to a statement that has ended.
func (l *link) collect() {
	l.blocked = false
	for _, m := range l.backend.take() {
		if m.kind() == 'Z' && l.skipping {
			l.ready = m
			continue
		}
		if m.kind() == 'E' {
			l.skipping = l.ends != "Z"
		}
		if m.kind() == 'Z' {
			l.limited = l.limited && l.backend.status != 'I'
		}
		l.withheld = append(l.withheld, m)
	}
}

// answered reports whether the withheld replies complete a round trip.
func (l *link) answered() bool {
	return !l.blocked && len(l.withheld) > 0 && (l.backend.ended || l.withheld[len(l.withheld)-1].kind() == 'Z')
}

// summary names the last outcome among the withheld replies.
func (l *link) summary() string {
	for _, m := range slices.Backward(l.withheld) {
		switch m.kind() {
		case 'C':
			return strings.TrimRight(string(m.body()), "\x00")
		case 'E':
			var e pgproto3.ErrorResponse
			if e.Decode(m.body()) == nil {
				return "error " + e.Code
			}
		}
	}
	return "nothing"
}

// label returns the name of a generated query, or the statement's first words.
func label(sql string) string {
	if name, found := strings.CutPrefix(sql, "-- name: "); found {
		name, _, _ = strings.Cut(name, " ")
		return name
	}
	line, _, _ := strings.Cut(sql, "\n")
	return line[:min(len(line), 40)]
}

// A lock timeout is a step, so the server's own clock must never reach one.
var (
	timeoutText  = regexp.MustCompile(`(set local lock_timeout = )'\w+'`)
	timeoutValue = regexp.MustCompile(`^[1-9]\d*m?s$`)
)

func withoutTimeout(sql string) string { return timeoutText.ReplaceAllString(sql, "${1}0") }

// bindWithoutTimeout replaces the lock timeout among a statement's parameters, and reports
// whether there was one.
func bindWithoutTimeout(m message, sql string) (message, bool) {
	if !strings.Contains(sql, "set_config('lock_timeout'") {
		return m, timeoutText.MatchString(sql)
	}
	var bind pgproto3.Bind
	if err := bind.Decode(m.body()); err != nil {
		return m, false
	}
	limited := false
	for i, p := range bind.Parameters {
		if timeoutValue.Match(p) {
			bind.Parameters[i], limited = []byte("0"), true
		}
	}
	return encode(&bind), limited
}
