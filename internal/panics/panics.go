// Package panics turns recovered panics into errors that can be logged.
package panics

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// maxText bounds the text of a panic in bytes.
const maxText = 200

// Error is a recovered panic.
type Error struct {
	text  string
	stack string
}

// Catch turns a panic of the function that defers it into the error that the function
// returns:
//
//	defer panics.Catch(&err)
func Catch(err *error) { //nolint:gocritic // it sets the result of the function that defers it
	if v := recover(); v != nil {
		*err = Recovered(v)
	}
}

// Recovered returns the error of a value that recover returned. It must be called while the
// deferred function runs, so that the stack is that of the panic.
//
// The value of a panic can be anything, a whole request included, and nobody has checked
// it for personal data (AUTH-16). So the error contains the text of an error or of a
// string, which is written by a programmer as the texts of other errors are, and cut
// short. Of any other value it contains the type alone, and of an error of the database
// the SQLSTATE, because its message can quote values of rows.
func Recovered(v any) *Error {
	return &Error{text: strings.ToValidUTF8(cut(describe(v)), ""), stack: string(debug.Stack())}
}

// Error returns what the panic was about.
func (e *Error) Error() string { return "panic: " + e.text }

// Stack returns where the panic happened. It contains no values.
func (e *Error) Stack() string { return e.stack }

// StackOf returns the stack of the panic that err wraps, or "".
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

// sqlError is an error that the database reported.
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
