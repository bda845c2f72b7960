package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/orders/internal/adapters/in/http/wire"
)

// This file is the only one that uses go-json-experiment, which the standard library is
// about to take over. encoding/json accepts duplicate members and invalid UTF-8, and
// writes no canonical form.

// Limits of a body, beyond what the contract needs: the largest legal body, an order of
// 100 items, has 304 values on 3 levels. They bound the work of validation, which costs a
// hundred times as much as counting. A number beyond its limits would change in
// canonical form.
const (
	maxDepth        = 16
	maxValues       = 500
	maxNumberLength = 32
	maxExactInteger = 1 << 53
)

// isStrictJSON reports whether text is one JSON value that every parser reads in the
// same way: no duplicate member, no invalid UTF-8.
func isStrictJSON(text []byte) bool { return jsontext.Value(text).IsValid() }

// canonicalJSON returns a value that readJSON accepts in canonical form (RFC 8785).
func canonicalJSON(value []byte) ([]byte, error) {
	canonical := jsontext.Value(value).Clone()
	if err := canonical.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize a body: %w", err)
	}
	return canonical, nil
}

// bodyOf decodes a body that has passed the schema of its operation.
func bodyOf[T any](r *request) (T, error) {
	var v T
	err := json.Unmarshal(r.body, &v)
	return v, err
}

// readJSON returns a body as the maps, slices, strings and numbers that a schema
// validates. It refuses what JSON parsers disagree about, before a body is validated or
// hashed: two readings of one body would be two requests with one fingerprint.
func readJSON(body []byte) (any, error) {
	d, _ := decoders.Get().(*jsontext.Decoder) // the pool has nothing else
	defer decoders.Put(d)
	d.Reset(bytes.NewBuffer(body))
	r := jsonReader{Decoder: d}
	value, err := r.value()
	if err != nil {
		return nil, err
	}
	if _, err := r.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformed("unexpected data after the JSON value")
	}
	return value, nil
}

// decoders keeps decoders for other bodies, because a new one makes many allocations.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// jsonReader reads one body.
type jsonReader struct {
	*jsontext.Decoder
	values int
}

// value reads a value.
func (r *jsonReader) value() (any, error) {
	token, err := r.ReadToken()
	if err != nil {
		return nil, malformedJSON(err)
	}
	r.values++
	if r.values > maxValues {
		return nil, malformed(fmt.Sprintf("the body must not have more than %d values", maxValues))
	}
	switch token.Kind() {
	case '{', '[':
		if r.StackDepth() > maxDepth {
			return nil, malformed(fmt.Sprintf("the body must not be nested deeper than %d levels", maxDepth))
		}
		if token.Kind() == '{' {
			return r.object()
		}
		return r.array()
	case '"':
		return token.String(), nil
	case '0':
		if !isExact(token.String()) {
			return nil, malformed("the body contains a number that is too large or too precise")
		}
		return token.Float()
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil // null
}

// object reads the members of an object.
func (r *jsonReader) object() (map[string]any, error) {
	object := map[string]any{}
	for r.PeekKind() != '}' {
		token, err := r.ReadToken()
		if err != nil {
			return nil, malformedJSON(err)
		}
		name := token.String()
		if object[name], err = r.value(); err != nil {
			return nil, err
		}
	}
	return object, r.end()
}

// array reads the elements of an array.
func (r *jsonReader) array() ([]any, error) {
	array := []any{}
	for r.PeekKind() != ']' {
		element, err := r.value()
		if err != nil {
			return nil, err
		}
		array = append(array, element)
	}
	return array, r.end()
}

// end reads the end of an object or an array.
func (r *jsonReader) end() error {
	if _, err := r.ReadToken(); err != nil {
		return malformedJSON(err)
	}
	return nil
}

// malformedJSON translates an error of the decoder, whose own message would quote the
// body (AUTH-16).
func malformedJSON(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return malformed("the body contains a duplicate member")
	}
	return malformed("the body must be one JSON value in UTF-8")
}

func malformed(detail string) error {
	return newProblem(wire.ProblemCodeMalformedRequest, detail)
}

// isExact reports whether a JSON number keeps its value in canonical form, which has
// float64 only: 1e999, 9007199254740993 and 0.1000000000000000000001 do not.
func isExact(number string) bool {
	if len(number) > maxNumberLength {
		return false
	}
	if len(number) <= 15 && strings.Trim(number, "0123456789") == "" {
		return true // most numbers are short and whole
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.Abs(f) > maxExactInteger {
		return false
	}
	if f == 0 {
		digits, _, _ := strings.Cut(strings.ToLower(number), "e")
		return !strings.ContainsAny(digits, "123456789") // 0e-9 is 0, and 1e-999 is not
	}
	return sameDecimal(number, strconv.FormatFloat(f, 'g', -1, 64))
}

func sameDecimal(a, b string) bool {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}
