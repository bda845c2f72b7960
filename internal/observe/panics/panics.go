// Package panics converts recovered panics into errors that are safe to log.
package panics

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// maxText bounds the panic text in bytes.
const maxText = 200

// Error is a recovered panic.
type Error struct {
	text  string
	stack string
}

// Catch converts a panic in the function that defers it into that function's error:
//
//	defer panics.Catch(&err)
func Catch(err *error) { //nolint:gocritic // it sets the result of the function that defers it
	if v := recover(); v != nil {
		*err = Recovered(v)
	}
}

// Recovered returns an error for a value returned by recover. Call it in the deferred
// function, so that the stack is the panic's.
//
// A panic value can be anything, even a whole request, and is not checked for personal
// data (AUTH-16). So the error contains the text of an error or a string, cut short,
// because programmers write those like other error texts. For any other value it
// contains only the type, and for a database error the SQLSTATE, because the message
// can quote row values.
func Recovered(v any) *Error {
	return &Error{text: strings.ToValidUTF8(cut(describe(v)), ""), stack: string(debug.Stack())}
}

// Error describes the panic.
func (e *Error) Error() string { return "panic: " + e.text }

// Stack returns the panic's stack, with no values.
func (e *Error) Stack() string { return e.stack }

// StackOf returns the stack of a panic wrapped by err, or "".
func StackOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.stack
	}
	return ""
}

func describe(v any) string {
	switch v := v.(type) {
	case runtime.Error:
		return v.Error() // types, indexes and addresses
	case error:
		if state, ok := errors.AsType[sqlError](v); ok {
			return fmt.Sprintf("%T: SQLSTATE %s", v, state.SQLState())
		}
		return fmt.Sprintf("%T: %s", v, v.Error())
	case string:
		return v
	}
	return fmt.Sprintf("a value of type %T", v)
}

// sqlError is a database error.
type sqlError interface {
	error
	SQLState() string
}

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return text[:maxText] + "…"
}
