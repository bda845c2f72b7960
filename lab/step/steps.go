package step

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"example.com/orders/lab/step/server"
)

// cancelRequest is the code in the first message of a connection that cancels a statement.
const cancelRequest = 80877102

// automatic processes the messages of a connection that are no step, and reports whether
// there were any.
func (r *run) automatic(l *link) bool {
	unit, preparation := l.next()
	switch {
	case l.IsClosed() || len(unit) == 1 && unit[0].Kind() == 'X':
		r.remove(l)
		l.Sever()
		if l.session != nil {
			clean := len(unit) == 1 && len(l.withheld) == 0 && !l.blocked
			r.w.server.Release(l.session, clean)
			r.recheck()
		}
		return true
	case len(unit) == 0:
		return false
	case unit[0].Kind() == 0 && binary.BigEndian.Uint32(unit[0].Body()) == cancelRequest:
		l.Drop(len(unit))
		r.fail(r.cancelBy(unit[0]))
		r.recheck()
		l.Sever()
		return true
	case unit[0].Kind() == 0:
		l.Drop(len(unit))
		session, answers, err := r.w.server.Connect(unit[0][1:])
		r.fail(err)
		l.session = session
		l.Deliver(answers)
		return true
	case preparation && !l.session.Ended:
		l.Drop(len(unit))
		replies, err := l.session.Prepare(unit)
		r.fail(err)
		l.Deliver(replies)
		return true
	}
	return false
}

// enabled names the steps that are possible now. Those that break something come last.
func (r *run) enabled() []string {
	steps, faults := r.requests()
	for _, l := range r.open() {
		unit, _ := l.next()
		switch {
		case l.session == nil:
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
	for _, s := range r.unanswered() {
		steps = append(steps, "answer "+s.name)
		faults = append(faults, "refuse "+s.name, "lose "+s.name)
	}
	if len(steps) == 0 {
		return nil
	}
	return append(append(steps, "clock"), faults...)
}

// requests names the client steps.
func (r *run) requests() (steps, faults []string) {
	for _, a := range r.attempts {
		a.mu.Lock()
		switch {
		case a.begun == 0:
			steps = append(steps, fmt.Sprint("send ", a.number))
		case a.retry && !a.decided:
			steps = append(steps, fmt.Sprint("retry ", a.number))
		case a.running == 1 && !a.decided && a.key != "":
			faults = append(faults, fmt.Sprint("hangup ", a.number))
		}
		a.mu.Unlock()
	}
	return steps, faults
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
	case "answer", "refuse", "lose":
		r.answer(verb, object)
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
		r.note(l.name, postgresql, "connection breaks")
		r.remove(l)
		l.Sever()
		r.w.server.Release(l.session, false)
		r.recheck()
		return
	}
	freed, err := true, error(nil)
	switch verb {
	case "pass":
		freed, err = r.pass(l)
	case "kill":
		err = r.kill(l)
	case "cancel":
		err = r.end(l, "57014")
	case "timeout":
		err = r.end(l, "55P03")
	}
	r.fail(err)
	if freed {
		r.recheck()
	}
}

// pass lets the next messages of the service reach the server, and reports whether they may
// have freed a lock.
func (r *run) pass(l *link) (freed bool, err error) {
	unit, _ := l.next()
	if err = l.begin(unit, r.w.writes); err == nil {
		l.blocked, err = r.w.server.Await(l.session, l.ends)
	}
	if err != nil {
		return false, err
	}
	if l.blocked {
		r.note(l.name, postgresql, l.asked+", which waits for a lock")
		return false, nil
	}
	l.collect()
	r.note(l.name, postgresql, l.asked)
	if l.committed != 0 {
		r.check(l.committed)
	}
	return l.freed, nil
}

// reply lets the server's replies reach the service.
func (r *run) reply(l *link) {
	r.note(postgresql, l.name, l.summary())
	l.Deliver(slices.Concat(l.withheld...))
	l.withheld = nil
	if l.session.Ended {
		synctest.Wait()
		l.Sever()
	}
}

// end ends the statement of a connection with an error code.
func (r *run) end(l *link, code string) error {
	r.note("observer", l.name, "error "+code)
	if err := r.w.server.Cancel(l.session, l.ends); err != nil {
		return err
	}
	for i, m := range l.session.Replies {
		if m.Kind() == 'E' {
			l.session.Replies[i] = server.Message(strings.Replace(string(m), "C57014\x00", "C"+code+"\x00", 1))
		}
	}
	l.collect()
	return nil
}

// kill ends the session of a connection, as pg_terminate_backend does.
func (r *run) kill(l *link) error {
	r.note("observer", l.name, "kills the session")
	session := l.session
	if l.blocked {
		if err := r.w.server.Cancel(session, l.ends); err != nil {
			return err
		}
	}
	l.session = session.Killed()
	l.collect()
	r.w.server.Release(session, false)
	return nil
}

// cancelBy does what a CancelRequest of the service asks for, if its session is open.
func (r *run) cancelBy(request server.Message) error {
	client := binary.BigEndian.Uint32(request.Body()[4:])
	for _, b := range r.w.server.Leaving {
		if b.Client == client {
			return r.w.server.Cancel(b, "3")
		}
	}
	for _, l := range r.open() {
		if l.blocked && l.session.Client == client {
			return r.w.server.Cancel(l.session, l.ends)
		}
	}
	return nil
}

// recheck collects the replies of statements that no longer wait for a lock.
func (r *run) recheck() {
	for again := true; again && len(r.found) == 0; {
		freed, err := r.w.server.SettleLeaving()
		r.fail(err)
		again = freed
		for _, l := range r.open() {
			if !l.blocked {
				continue
			}
			blocked, err := r.w.server.Await(l.session, l.ends)
			r.fail(err)
			if err == nil && !blocked {
				l.collect()
				r.note(postgresql, postgresql, l.name+" has its lock: "+l.asked)
				again = true
			}
		}
	}
}
