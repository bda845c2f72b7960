package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// unansweredError is an attempt that the service did not answer: a proxy or portal gave
// one, or the connection broke. The request may have taken effect.
type unansweredError struct{ cause error }

func (e *unansweredError) Error() string { return "no answer: " + e.cause.Error() }
func (e *unansweredError) Unwrap() error { return e.cause }

// unanswered leaves out the URL, which can contain personal data.
func unanswered(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &unansweredError{err}
}

// reader reads the body of a success.
type reader func(body []byte) error

// into returns a reader that decodes into result. A body that it cannot read leaves result
// alone, because the next attempt may omit members of it.
func into[T any](result *T) reader {
	return func(body []byte) error {
		var decoded T
		if err := json.Unmarshal(body, &decoded); err != nil {
			return err
		}
		*result = decoded
		return nil
	}
}

// decode passes a success to read, and returns a refusal as a [Problem]. Any other response
// is not an answer of the service to this request.
func (r request) decode(resp *http.Response, body []byte, read reader) error {
	problem := problemIn(resp, body)
	echo := resp.Header.Get("Idempotency-Key")
	switch {
	case r.key != "" && echo != bare(r.key) && (echo != "" || problem == nil || problem.resolves()):
		// A refusal that precedes the key, such as 401 or 429, has no echo.
		return unanswered(fmt.Errorf("status %d without the echo of the key", resp.StatusCode))
	case problem != nil:
		return problem
	case !slices.Contains(r.operation.Successes, resp.StatusCode):
		return unanswered(fmt.Errorf("status %d is none of this operation", resp.StatusCode))
	}
	if err := r.decodeSuccess(body, read); err != nil {
		return unanswered(fmt.Errorf("unreadable response: %w", err))
	}
	return nil
}

// decodeSuccess passes a body to read if it has the expected member.
func (r request) decodeSuccess(body []byte, read reader) error {
	member := r.operation.Member
	if member == "" {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	if value := members[member]; value == nil || string(value) == "null" {
		return errors.New("no " + member)
	}
	return read(body)
}

// bare returns a key as the service echoes it: the quotes that a header may have are removed.
func bare(key string) string { return strings.Trim(key, ` "`) }

// problemIn returns the problem document in a response, or nil. Gateways have
// documents with other members.
func problemIn(resp *http.Response, body []byte) *Problem {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	problem := Problem{Status: resp.StatusCode}
	var required struct{ Retryable *bool }
	isOurs := media == "application/problem+json" && json.Unmarshal(body, &problem) == nil && json.Unmarshal(body, &required) == nil &&
		problem.Code != "" && required.Retryable != nil && problem.Status == resp.StatusCode && problem.Status >= http.StatusBadRequest
	if !isOurs {
		return nil
	}
	return &problem
}
