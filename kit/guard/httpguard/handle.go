package httpguard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Reply is the response of a command. Its status decides what is kept, as for a
// handler.
type Reply struct {
	// Status is required: a command that returns none has failed.
	Status int
	// Location is the Location header, or "".
	Location string
	// Body is encoded as JSON. Without it (nil) there is no body.
	Body any
}

// Handle returns a handler that requires a key and executes commands.
//
// decode turns a request into a command, before the key is claimed: an error leaves the
// key free and opens no transaction. It is answered as the [Problem] that it is, and
// otherwise with 400 and its text.
//
// run executes the command in the transaction of the claim, which the store finds in
// ctx, and returns the reply. It may run more than once, so it does not change cmd. An
// error that is a [Problem] is answered as such, and kept if its status says so: 402,
// 409 or 422. Any other error rolls everything back. Return errors of the database as
// they are, or wrapped, so that the store recognises a lost race. Return
// [guard.ErrKeyReused] if a different effect has the key.
//
// operation names the command for people who look a key up, such as "createTransfer".
func Handle[C any](
	g *Guard, operation string,
	decode func(*http.Request) (C, error), run func(ctx context.Context, cmd C) (Reply, error),
) http.Handler {
	begin := func(r *http.Request) (command, error) {
		cmd, err := decode(r)
		if err != nil {
			return nil, invalid(err)
		}
		return func(held *response, r *http.Request) error {
			reply, err := run(r.Context(), cmd)
			if err != nil {
				return err
			}
			return reply.write(held)
		}, nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, operation, begin) })
}

// invalid returns the problem of a request that cannot be decoded.
func invalid(err error) Problem {
	if p, ok := errors.AsType[Problem](err); ok {
		return p
	}
	return Problem{http.StatusBadRequest, "request_invalid", err.Error()}
}

// write writes the reply to a response. A reply without a status is silent.
func (r Reply) write(held *response) error {
	if r.Status == 0 {
		return nil
	}
	if r.Location != "" {
		held.header.Set("Location", r.Location)
	}
	if r.Body == nil {
		held.WriteHeader(r.Status)
		return nil
	}
	body, err := json.Marshal(r.Body)
	if err != nil {
		return err
	}
	held.header.Set("Content-Type", "application/json")
	held.WriteHeader(r.Status)
	_, err = held.Write(body)
	return err
}
