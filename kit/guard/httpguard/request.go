package httpguard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"

	"example.com/orders/kit/guard"
)

// read authenticates the request, and returns its meaning and the body. It reads the
// whole body, so that a truncated request is not taken for a shorter one.
func (g *Guard) read(w http.ResponseWriter, r *http.Request, operation string) (guard.Request, []byte, error) {
	scope := g.cfg.Scope(r)
	if scope == "" {
		return guard.Request{}, nil, errUnauthenticated
	}
	key, err := guard.ParseKey(r.Header.Values(KeyHeader))
	if err != nil {
		return guard.Request{}, nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.cfg.MaxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return guard.Request{}, nil, errTooLarge
	}
	if err != nil {
		return guard.Request{}, nil, errUnreadable
	}
	if r.ContentLength > int64(len(body)) {
		return guard.Request{}, nil, errBodyRead
	}
	return guard.Request{
		ID: guard.ID{Scope: scope, Key: key}, Operation: operation,
		Content: guard.NewContent(r.Method, r.URL, canonical(body)),
	}, body, nil
}

// errBodyRead: without the body, two requests would mean the same.
var errBodyRead = errors.New("the body was read before the guard, by a handler around it")

// withBody returns a copy of the request for one run of the handler, which may change
// it.
func withBody(ctx context.Context, r *http.Request, body []byte) *http.Request {
	r = r.Clone(ctx)
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return r
}

// canonical returns JSON without white space and with sorted members, whatever its
// Content-Type says, and other bodies as they are. It returns JSON as it is where two
// parsers may read two values: a member that occurs twice, a text that is not Unicode.
//
// This is not RFC 8785, which package strictjson of the service has from a library: this
// module requires pgx only, and numbers stay as they were sent. Stored fingerprints depend
// on either form, so neither may replace the other.
func canonical(body []byte) []byte {
	if !utf8.Valid(body) {
		return body
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := readValue(decoder)
	if _, more := decoder.Token(); err != nil || !errors.Is(more, io.EOF) {
		return body
	}
	spelled, err := json.Marshal(value)
	if err != nil || bytes.ContainsRune(spelled, utf8.RuneError) {
		return body
	}
	return spelled
}

var errTwice = errors.New("a member occurs twice")

// readValue reads one JSON value.
func readValue(from *json.Decoder) (any, error) {
	token, err := from.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return readObject(from)
	case json.Delim('['):
		list := []any{}
		for from.More() {
			element, err := readValue(from)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		_, err := from.Token()
		return list, err
	}
	return token, nil
}

// readObject reads the members of an object, after its brace.
func readObject(from *json.Decoder) (any, error) {
	object := map[string]any{}
	for from.More() {
		name, err := from.Token()
		if err != nil {
			return nil, err
		}
		member, isText := name.(string)
		if _, twice := object[member]; twice || !isText {
			return nil, errTwice
		}
		if object[member], err = readValue(from); err != nil {
			return nil, err
		}
	}
	_, err := from.Token()
	return object, err
}
