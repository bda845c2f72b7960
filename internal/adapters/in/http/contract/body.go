package contract

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
)

// maxBody is the largest body size.
const maxBody = 64 << 10

// ReadBody reads a JSON body. An absent body is empty; whether the operation needs one is
// up to the contract.
//
// Refusals: body_too_large, unsupported_media_type, malformed_request.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := ReadUpTo(maxBody, w, r)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 && !isJSON(r.Header) {
		return nil, problem.New(wire.ProblemCodeUnsupportedMediaType, "send the body as application/json in UTF-8")
	}
	return body, nil
}

// ReadUpTo reads a body to the end, because a truncated request must not be taken for a
// shorter one. The buffer has the final size from the start: growing it would take
// several times the memory.
//
// Refusals: body_too_large, malformed_request.
func ReadUpTo(limit int64, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	size := r.ContentLength
	if size < 0 || size > limit { // not declared, or refused below
		size = limit
	}
	body := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // ReadFrom needs MinRead to see the end
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, BodyTooLarge(limit)
	}
	if err != nil {
		return nil, errBodyCutShort()
	}
	return body.Bytes(), nil
}

// BodyTooLarge returns the refusal for a body with more bytes.
func BodyTooLarge(limit int64) error {
	return problem.New(wire.ProblemCodeBodyTooLarge, fmt.Sprintf("the body must not exceed %d KiB", limit>>10))
}

func errBodyCutShort() error {
	return problem.New(wire.ProblemCodeMalformedRequest, "the connection ended before the end of the body")
}

// isJSON reports whether the headers declare plain JSON in UTF-8.
func isJSON(h http.Header) bool {
	contentType := h.Values("Content-Type")
	if len(contentType) != 1 || h.Get("Content-Encoding") != "" {
		return false
	}
	if contentType[0] == "application/json" {
		return true // as most clients write it
	}
	mediaType, params, err := mime.ParseMediaType(contentType[0])
	if err != nil || mediaType != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}

// CheckQuery refuses unknown and repeated parameters: a misspelled filter would show
// everything, and of two values neither is the right one.
func (c *Contract) CheckQuery(operationID, rawQuery string) error {
	if rawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return problem.Invalid(wire.FieldError{
			Pointer: "#", Detail: "the query must be name=value pairs, percent-encoded, with & between them",
		})
	}
	var refused []wire.FieldError
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if field, wrong := parameterError(name, query[name], c.queries[operationID]); wrong {
			refused = append(refused, field)
		}
	}
	if refused == nil {
		return nil
	}
	return problem.Invalid(refused...)
}

// parameterError returns the rule that a parameter violates, if there is one. It does
// not repeat a name that may be personal data or a secret.
func parameterError(name string, values, known []string) (field wire.FieldError, wrong bool) {
	field.Pointer = problem.Pointer(name)
	hidden := isPrivate(name)
	if hidden {
		field.Pointer = problem.Pointer()
	}
	switch {
	case hidden:
		field.Detail = "has a parameter that is not known"
	case !slices.Contains(known, name):
		field.Detail = "is not a known parameter"
	case len(values) > 1:
		field.Detail = "must not be repeated"
	}
	return field, field.Detail != ""
}
