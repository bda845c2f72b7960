package step

import (
	"bytes"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"example.com/orders/lab/step/server"
)

// link is a connection of the service. Its messages wait here in both directions.
type link struct {
	*server.Conn
	name    string          // such as a1: the first connection of replica a
	session *server.Session // nil before the startup message
	// withheld are the server's replies to the last round trip, and asked the label of
	// their request.
	withheld []server.Message
	asked    string
	// ends are the replies that end the statement under way. blocked reports that it waits
	// for a lock, and limited that its transaction has a lock timeout.
	ends     string
	blocked  bool
	limited  bool
	skipping bool // after an error, until Sync, whose answer is ready
	ready    server.Message
	// open reports that a transaction has begun. It has written, and last is what its last
	// statement writes.
	open          bool
	written, last tables
	// freed reports that the last statement may have freed a lock. It has committed.
	freed     bool
	committed tables
}

// next returns the messages of the next step, and whether it is only preparation: the
// messages up to an Execute, and a Sync behind it.
func (l *link) next() (unit []server.Message, preparation bool) {
	pending, executes := l.Pending(), false
	for i, m := range pending {
		switch m.Kind() {
		case 0, 'X':
			return pending[:i+1], true
		case 'Q':
			return pending[:i+1], false
		case 'S':
			return pending[:i+1], !executes && !l.skipping
		case 'E':
			executes = true
			if l.skipping { // the server ignores everything until Sync
				continue
			}
			if i+1 < len(pending) && pending[i+1].Kind() == 'S' {
				i++
			}
			return pending[:i+1], false
		}
	}
	return nil, false
}

// begin sends a step's messages to the server.
func (l *link) begin(unit []server.Message, writes func(sql string) tables) error {
	l.last = 0
	if l.skipping {
		l.skipping, l.asked, l.ends, l.session.Replies = false, "Sync", "Z", []server.Message{l.ready}
		l.Drop(len(unit))
		return nil
	}
	var raw []byte
	l.ends = "CIsE"
	for _, m := range unit {
		switch m.Kind() {
		case 'B':
			var bind pgproto3.Bind
			if err := bind.Decode(m.Body()); err != nil {
				return err
			}
			sql := l.session.SQL(bind.PreparedStatement)
			l.asked, l.last = label(sql), writes(sql)
			var limited bool
			m, limited = server.BindWithoutTimeout(m, sql)
			l.limited = l.limited || limited
		case 'P':
			var err error
			if m, err = l.session.Parse(m); err != nil {
				return err
			}
		case 'Q':
			l.asked, l.last = label(tag(m)), writes(tag(m))
			l.ends = "Z"
		case 'S':
			l.ends = "Z"
		}
		raw = append(raw, m...)
	}
	if l.ends != "Z" {
		raw = append(raw, 'H', 0, 0, 0, 4) // Flush
	}
	l.Drop(len(unit))
	l.session.Send(raw)
	return nil
}

// collect takes the replies to a statement that has ended.
func (l *link) collect() {
	l.blocked, l.freed, l.committed = false, !l.open, 0
	for _, m := range l.session.Take() {
		switch m.Kind() {
		case 'C':
			l.complete(tag(m))
		case 'E':
			l.skipping, l.freed, l.last = l.ends != "Z", true, 0
		case 'Z':
			if l.skipping {
				l.ready = m
				continue
			}
			l.open = m.Body()[0] != 'I'
			l.limited = l.limited && l.open
			if !l.open && l.summary() != "ROLLBACK" {
				l.committed |= l.written
			}
			if !l.open {
				l.written = 0
			}
		}
		l.withheld = append(l.withheld, m)
	}
}

// complete notes a statement's end.
func (l *link) complete(tag string) {
	l.written |= l.last
	switch tag {
	case "BEGIN":
		l.open, l.freed = true, false
	case "COMMIT":
		l.freed, l.committed, l.written = true, l.committed|l.written, 0
	case "ROLLBACK": // perhaps to a savepoint
		l.freed = true
	}
}

func tag(m server.Message) string { return string(bytes.TrimRight(m.Body(), "\x00")) }

// answered reports whether the withheld replies complete a round trip.
func (l *link) answered() bool {
	return !l.blocked && len(l.withheld) > 0 && (l.session.Ended || l.withheld[len(l.withheld)-1].Kind() == 'Z')
}

// summary names the last outcome among the withheld replies.
func (l *link) summary() string {
	for _, m := range slices.Backward(l.withheld) {
		switch m.Kind() {
		case 'C':
			return strings.TrimRight(string(m.Body()), "\x00")
		case 'E':
			var e pgproto3.ErrorResponse
			if e.Decode(m.Body()) == nil {
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
