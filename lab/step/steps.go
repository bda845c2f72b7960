package step

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// cancelRequest is the code in the first message of a connection that cancels a statement.
const cancelRequest = 80877102

// automatic processes the messages of a connection that are no step, and reports whether
// there were any.
func (r *run) automatic(l *link) bool {
	unit, preparation := l.next()
	switch {
	case l.isClosed() || len(unit) == 1 && unit[0].kind() == 'X':
		r.remove(l)
		_ = l.service.Close()
		if l.backend != nil {
			clean := len(unit) == 1 && len(l.withheld) == 0 && !l.blocked
			r.w.out.do(func() { r.fail(r.w.out.release(l.backend, clean)); r.recheck() })
		}
		return true
	case len(unit) == 0:
		return false
	case unit[0].kind() == 0 && binary.BigEndian.Uint32(unit[0].body()) == cancelRequest:
		l.drop(unit)
		r.w.out.do(func() { r.fail(r.cancelBy(unit[0])); r.recheck() })
		_ = l.service.Close()
		return true
	case unit[0].kind() == 0:
		l.drop(unit)
		var answers []byte
		r.w.out.do(func() {
			var err error
			l.backend, answers, err = r.w.out.connect(unit[0][1:])
			r.fail(err)
		})
		l.deliver(answers)
		return true
	case preparation && !l.backend.ended:
		l.drop(unit)
		var replies []byte
		r.w.out.do(func() {
			var err error
			replies, err = r.w.out.prepare(l.backend, unit)
			r.fail(err)
		})
		l.deliver(replies)
		return true
	}
	return false
}

// enabled names the steps that are possible now. Those that break something come last.
func (r *run) enabled() (steps []string) {
	for _, a := range r.attempts {
		a.mu.Lock()
		switch {
		case a.begun == 0:
			steps = append(steps, fmt.Sprint("send ", a.number))
		case a.retry && !a.decided:
			steps = append(steps, fmt.Sprint("retry ", a.number))
		}
		a.mu.Unlock()
	}
	var faults []string
	for _, l := range r.open() {
		unit, _ := l.next()
		switch {
		case l.backend == nil:
			continue
		case l.blocked:
			if l.limited {
				steps = append(steps, "timeout "+l.name)
			}
			faults = append(faults, "cancel "+l.name)
		case l.answered():
			steps = append(steps, "reply "+l.name)
		case len(unit) > 0:
			steps = append(steps, "pass "+l.name)
		default:
			continue
		}
		faults = append(faults, "cut "+l.name, "kill "+l.name)
	}
	if len(steps) == 0 {
		return nil
	}
	for _, a := range r.attempts {
		a.mu.Lock()
		if a.running == 1 && !a.decided && !a.retry && a.key != "" {
			faults = append(faults, fmt.Sprint("hangup ", a.number))
		}
		a.mu.Unlock()
	}
	steps = append(steps, "clock")
	return append(steps, faults...)
}

// take takes a step.
func (r *run) take(step string) {
	verb, object, _ := strings.Cut(step, " ")
	switch verb {
	case "send", "retry", "hangup":
		for _, a := range r.attempts {
			if fmt.Sprint(a.number) != object {
				continue
			}
			if verb == "hangup" {
				r.note(a.by.Subject, r.replicaName(a), "hangs up on "+a.name)
				a.hangUp()
				return
			}
			r.note(a.by.Subject, r.replicaName(a), a.name)
			r.send(a)
		}
		return
	case "clock":
		r.note("clock", "clock", "advances")
		time.Sleep(tick)
		return
	}
	for _, l := range r.open() {
		if l.name == object {
			r.takeOn(l, verb)
			return
		}
	}
}

// takeOn takes a step on a connection.
func (r *run) takeOn(l *link, verb string) {
	switch verb {
	case "reply":
		r.reply(l)
		return
	case "cut":
		r.note(l.name, server, "connection breaks")
		r.remove(l)
		_ = l.service.Close()
		r.w.out.do(func() { r.fail(r.w.out.release(l.backend, false)); r.recheck() })
		return
	}
	r.w.out.do(func() {
		var err error
		switch verb {
		case "pass":
			err = r.pass(l)
		case "kill":
			err = r.kill(l)
		case "cancel":
			err = r.end(l, "57014")
		case "timeout":
			err = r.end(l, "55P03")
		}
		r.fail(err)
		r.recheck()
	})
}

// pass lets the next messages of the service reach the server.
func (r *run) pass(l *link) error {
	unit, _ := l.next()
	err := l.begin(unit)
	if err == nil {
		l.blocked, err = r.w.out.await(l.backend, l.ends)
	}
	if err != nil {
		return err
	}
	if l.blocked {
		r.note(l.name, server, l.asked+", which waits for a lock")
		return nil
	}
	l.collect()
	r.note(l.name, server, l.asked)
	if strings.EqualFold(l.asked, "commit") {
		r.checkCommitted()
	}
	return nil
}

// reply lets the server's replies reach the service.
func (r *run) reply(l *link) {
	r.note(server, l.name, l.summary())
	l.deliver(joined(l.withheld))
	l.withheld = nil
	if l.backend.ended {
		synctest.Wait()
		_ = l.service.Close()
	}
}

// end ends the statement of a connection with an error code.
func (r *run) end(l *link, code string) error {
	r.note("observer", l.name, "error "+code)
	if err := r.w.out.cancel(l.backend, l.ends); err != nil {
		return err
	}
	for i, m := range l.backend.replies {
		if m.kind() == 'E' {
			l.backend.replies[i] = message(strings.Replace(string(m), "C57014\x00", "C"+code+"\x00", 1))
		}
	}
	l.collect()
	return nil
}

// killed is what the server sends before it ends a session.
var killed = encode(&pgproto3.ErrorResponse{
	Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01", Message: "terminating connection due to administrator command",
})

// kill ends the session of a connection, as pg_terminate_backend does.
func (r *run) kill(l *link) error {
	r.note("observer", l.name, "kills the session")
	session := l.backend
	if l.blocked {
		if err := r.w.out.cancel(session, l.ends); err != nil {
			return err
		}
	}
	l.backend = &backend{ended: true, prepared: session.prepared, replies: []message{killed}}
	l.collect()
	return r.w.out.release(session, false)
}

// cancelBy does what a CancelRequest of the service asks for, if its session is open.
func (r *run) cancelBy(request message) error {
	client := binary.BigEndian.Uint32(request.body()[4:])
	for _, b := range r.w.out.leaving {
		if b.client == client {
			return r.w.out.cancel(b, "3")
		}
	}
	for _, l := range r.open() {
		if l.blocked && l.backend.client == client {
			return r.w.out.cancel(l.backend, l.ends)
		}
	}
	return nil
}

// recheck collects the replies of statements that no longer wait for a lock.
func (r *run) recheck() {
	for again := true; again && len(r.found) == 0; {
		freed, err := r.w.out.settleLeaving()
		r.fail(err)
		again = freed
		for _, l := range r.open() {
			if !l.blocked {
				continue
			}
			blocked, err := r.w.out.await(l.backend, l.ends)
			r.fail(err)
			if err == nil && !blocked {
				l.collect()
				r.note(server, server, l.name+" has its lock: "+l.asked)
				again = true
			}
		}
	}
}
