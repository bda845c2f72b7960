// Package strictjson reads JSON that every parser reads in the same way: encoding/json
// accepts duplicate members and invalid UTF-8, and writes no canonical form.
//
// It is the only package that uses go-json-experiment, which the standard library is about
// to adopt.
package strictjson

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
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Body limits, beyond the contract's needs: the largest legal body, an order with 100
// items, has 304 values on 3 levels. They bound the work of validation, which costs a
// hundred times as much as counting. A number beyond its limits would change in
// canonical form.
const (
	MaxDepth        = 16
	MaxValues       = 500
	maxNumberLength = 32
	maxExactInteger = 1 << 53
)

// SyntaxError is the error for a text that is not strict JSON within the bounds. It
// repeats nothing from the text (AUTH-16).
type SyntaxError string

// Error returns the mistake in words for the client.
func (e SyntaxError) Error() string { return string(e) }

// IsValid reports whether text is one JSON value without duplicate members and invalid
// UTF-8.
func IsValid(text []byte) bool { return jsontext.Value(text).IsValid() }

// Canonicalize returns a value that [Read] accepts in canonical form (RFC 8785).
func Canonicalize(value []byte) ([]byte, error) {
	canonical := jsontext.Value(value).Clone()
	if err := canonical.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize a body: %w", err)
	}
	return canonical, nil
}

// Decode decodes a value that has passed T's schema.
func Decode[T any](value []byte) (T, error) {
	var v T
	err := json.Unmarshal(value, &v)
	return v, err
}

// Read returns a body as the maps, slices, strings and numbers that a schema validates.
// Its error is a [SyntaxError] where JSON parsers disagree about the body: two readings
// would be two requests with one fingerprint.
func Read(body []byte) (any, error) {
	d, _ := decoders.Get().(*jsontext.Decoder) // the pool has nothing else
	defer decoders.Put(d)
	d.Reset(bytes.NewBuffer(body))
	r := jsonReader{Decoder: d}
	value, err := r.value()
	if err != nil {
		return nil, syntaxError(body, r.InputOffset(), err)
	}
	end := len(body) - len(bytes.TrimLeft(body[r.InputOffset():], " \t\r\n"))
	if _, err := r.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, syntaxError(body, int64(end), SyntaxError("unexpected data after the JSON value"))
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
		return nil, err
	}
	r.values++
	if r.values > MaxValues {
		return nil, SyntaxError(fmt.Sprintf("the body must not have more than %d values", MaxValues))
	}
	switch token.Kind() {
	case '{', '[':
		if r.StackDepth() > MaxDepth {
			return nil, SyntaxError(fmt.Sprintf("the body must not be nested deeper than %d levels", MaxDepth))
		}
		if token.Kind() == '{' {
			return r.object()
		}
		return r.array()
	case '"':
		return token.String(), nil
	case '0':
		if !isExact(token.String()) {
			return nil, SyntaxError("the body contains a number that is too large or too precise")
		}
		return token.Float()
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil // null
}

func (r *jsonReader) object() (map[string]any, error) {
	object := map[string]any{}
	for r.PeekKind() != '}' {
		token, err := r.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if object[name], err = r.value(); err != nil {
			return nil, err
		}
	}
	_, err := r.ReadToken()
	return object, err
}

func (r *jsonReader) array() ([]any, error) {
	array := []any{}
	for r.PeekKind() != ']' {
		element, err := r.value()
		if err != nil {
			return nil, err
		}
		array = append(array, element)
	}
	_, err := r.ReadToken()
	return array, err
}

// syntaxError adds its position to a mistake at an offset. A decoder error has a better
// offset, and a message that would quote the body (AUTH-16).
func syntaxError(body []byte, offset int64, err error) SyntaxError {
	mistake, ok := errors.AsType[SyntaxError](err)
	if malformed, found := errors.AsType[*jsontext.SyntacticError](err); found {
		offset = malformed.ByteOffset
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		mistake, offset = "the body ends before its JSON value is complete", int64(len(body))
	case errors.Is(err, jsontext.ErrDuplicateName):
		mistake = "the body contains a duplicate member"
	case !ok:
		mistake = "the body must be one JSON value in UTF-8"
	}
	before := body[:offset]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return SyntaxError(fmt.Sprintf("%s (line %d, column %d)", mistake, bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(line)+1))
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
