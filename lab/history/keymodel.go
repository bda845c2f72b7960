package history

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// keyState is possible knowledge of a database about a key: the record that decides it,
// and the effect, which outlives the record.
type keyState struct {
	stored bool
	record storedRecord
	effect effect
	// older are responses from expired records. A process that remembers one may still
	// replay it, because the test and not the time made it expire.
	older string
}

// storedRecord is a record, as far as it is known: a replay or lookup reveals the
// record from an unknown attempt.
type storedRecord struct {
	operation, request string
	status             int
	response           string
	lookup             string // the response to Lookup
}

// effect is the permanent effect of the command.
type effect struct {
	certainty   certainty
	request, id string
}

type certainty int

const (
	none certainty = iota
	possible
	certain
)

// keyModel is the sequential behaviour of one key that begins in one of these states.
// The operations are attempts.
func keyModel(begin []keyState) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return anys(begin) },
		Step: func(state, input, _ any) []any {
			return anys(state.(keyState).step(input.(Attempt))) //nolint:forcetypeassert // the model's own types
		},
	}
	return model.ToModel()
}

func anys(states []keyState) []any {
	all := make([]any, len(states))
	for i, s := range states {
		all[i] = s
	}
	return all
}

// keyOperations returns the attempts with one key for the model. An unknown one never
// returns: if it never takes effect, it comes last in the order. Among equal ones, it
// keeps as many as can take effect: one for each time that the key was free. It leaves
// out attempts that say nothing about the record.
func keyOperations(attempts []Attempt) []porcupine.Operation {
	free := 1 + len(filter(attempts, func(a Attempt) bool { return a.Operation == Expiry }))
	taken := map[string]int{}
	var operations []porcupine.Operation
	for _, a := range byStart(attempts) {
		if a.Code == codeInProgress && slices.ContainsFunc(attempts, a.mayWaitFor) {
			continue
		}
		op := porcupine.Operation{Input: a, Call: int64(a.Start), Return: int64(a.End)}
		switch {
		case a.unknown():
			taken[a.Request]++
			if taken[a.Request] > free {
				continue
			}
			op.Return = math.MaxInt64
		case a.Operation == Expiry && a.Outcome == Unknown:
			op.Return = math.MaxInt64
		}
		operations = append(operations, op)
	}
	return operations
}

// step returns the possible states after an attempt: no state if the answer is wrong.
func (s keyState) step(a Attempt) []keyState {
	switch {
	case a.Operation == Expiry:
		return s.expire(a)
	case a.Operation == Lookup:
		return s.lookUp(a)
	case a.unknown():
		return s.stepUnknown(a)
	case a.Code == codeReused:
		return s.when(s.belongsToOther(a.Request))
	case a.Code == codeSpent:
		return s.when(s.stored && s.record.request == a.Request && s.record.status/100 != 2)
	case a.Code == codeInProgress:
		return s.when(!s.stored)
	case a.created():
		return s.create(a)
	case a.decides():
		return s.replay(a)
	}
	return s.when(true) // 400, 401, 403, 404 and 429 leave all states possible
}

// when returns the unchanged state if the answer is right.
func (s keyState) when(right bool) []keyState {
	if !right {
		return nil
	}
	return []keyState{s}
}

// expire forgets the record. An expiry with an unknown outcome may have had no effect:
// then it comes last in the order.
func (s keyState) expire(Attempt) []keyState {
	if s.stored {
		s.older += olderRecord(s.record.request, s.record.response)
		s.stored, s.record = false, storedRecord{}
	}
	return []keyState{s}
}

// olderRecord returns an element of older; without a response if it is unknown.
func olderRecord(request, response string) string { return request + " " + response + "\n" }

// lookUp compares a lookup with the record.
func (s keyState) lookUp(a Attempt) []keyState {
	switch {
	case a.Outcome == Refused && a.Status == http.StatusNotFound, a.inProgress():
		return s.when(!s.stored)
	case a.Outcome != OK || a.Record == nil:
		return s.when(true)
	}
	r := &s.record
	right := s.stored && agree(&r.operation, a.Record.Command) && agree(&r.status, a.Record.Status) &&
		agree(&r.lookup, a.Response)
	if right && r.status/100 == 2 {
		s.effect = effect{certain, r.request, s.effect.id}
	}
	return s.when(right)
}

// agree reports whether a seen value matches the known one. The first seen value
// becomes known.
func agree[T comparable](known *T, seen T) bool {
	var missing T
	if *known == missing {
		*known = seen
	}
	return seen == missing || *known == seen
}

// stepUnknown returns the state with and without a record from the attempt.
func (s keyState) stepUnknown(a Attempt) []keyState {
	if s.stored {
		return s.when(true)
	}
	states := []keyState{s}
	s.stored, s.record = true, storedRecord{operation: a.Operation, request: a.Request}
	if s.effect.certainty != none && s.effect.request != a.Request {
		states = append(states, s) // the attempt was refused; the effect is the other request's
	}
	switch {
	case s.effect.certainty == none, s.effect.certainty == possible && s.effect.request != a.Request:
		s.effect = effect{possible, a.Request, ""}
	case s.effect.request != a.Request:
		return states
	}
	return append(states, s)
}

// belongsToOther reports whether a request may be refused because the key has a different
// one.
func (s keyState) belongsToOther(request string) bool {
	if s.stored && s.record.request != request || s.effect.certainty != none && s.effect.request != request {
		return true
	}
	for line := range strings.Lines(s.older) {
		if !strings.HasPrefix(line, request+" ") {
			return true
		}
	}
	return false
}

// create stores the record of an attempt that reports "created".
func (s keyState) create(a Attempt) []keyState {
	if s.stored {
		return nil
	}
	repeated := s.effect.request == a.Request
	if s.effect.certainty == certain && (a.Outcome == OK || repeated) {
		return nil // with an effect, the second line of defence answers "reused"
	}
	if a.Outcome == OK {
		s.effect = effect{certain, a.Request, a.Effect}
	} else if repeated {
		s.effect = effect{} // the earlier unknown attempt had no effect
	}
	s.stored, s.record = true, recordOf(a)
	return []keyState{s}
}

func recordOf(a Attempt) storedRecord {
	return storedRecord{operation: a.Operation, request: a.Request, status: a.Status, response: a.Response}
}

// replay compares an attempt that reports "reused" with the record. Without one, the
// answer comes from the second line of defence, or from a process that remembers an
// expired record.
func (s keyState) replay(a Attempt) []keyState {
	var states []keyState
	if next := s; s.stored && next.record.matches(a) && next.effect.matches(a) {
		states = append(states, next)
	}
	if next := s; !s.stored && a.Outcome == OK && s.effect.request == a.Request && next.effect.matches(a) {
		next.stored, next.record = true, recordOf(a)
		states = append(states, next)
	}
	// An unseen response that a process remembers may be a refusal, or the effect.
	remembered := strings.Contains(s.older, olderRecord(a.Request, a.Response))
	unseen := strings.Contains(s.older, olderRecord(a.Request, ""))
	if next := s; remembered || unseen && (a.Outcome == Refused || next.effect.matches(a)) {
		states = append(states, next)
	}
	return states
}

// matches reports whether a replay matches the record, and completes the record.
func (r *storedRecord) matches(a Attempt) bool {
	return r.request == a.Request && agree(&r.operation, a.Operation) && agree(&r.status, a.Status) &&
		agree(&r.response, a.Response)
}

// matches reports whether a stored response matches the effect, and completes the
// effect.
func (e *effect) matches(a Attempt) bool {
	if a.Outcome == OK {
		if e.certainty == none || e.request != a.Request || !agree(&e.id, a.Effect) {
			return false
		}
		e.certainty = certain
		return true
	}
	if e.request == a.Request {
		if e.certainty == certain {
			return false
		}
		*e = effect{}
	}
	return true
}
