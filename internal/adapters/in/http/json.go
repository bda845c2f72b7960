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

// canonicalJSON returns a value that checkJSON accepts in canonical form (RFC 8785).
func canonicalJSON(value []byte) ([]byte, error) {
	canonical := jsontext.Value(value).Clone()
	if err := canonical.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize a body: %w", err)
	}
	return canonical, nil
}

// decodeJSON returns a value that checkJSON accepts as the maps, slices, strings and
// numbers that a schema validates.
func decodeJSON(value []byte) (any, error) {
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return nil, fmt.Errorf("decode a body: %w", err)
	}
	return decoded, nil
}

// checkJSON refuses what JSON parsers disagree about, before a body is validated or
// hashed: two readings of one body would be two requests with one fingerprint. It also
// refuses card numbers, which must be neither hashed nor stored.
func checkJSON(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	values := 0
	for more := true; more; more = d.StackDepth() > 0 {
		token, err := d.ReadToken()
		if err != nil {
			return malformedJSON(err)
		}
		if isValue(d, token) {
			values++
		}
		if values > maxValues {
			return malformed(fmt.Sprintf("the body must not have more than %d values", maxValues))
		}
		if err := checkToken(d, token); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return malformed("unexpected data after the JSON value")
	}
	return nil
}

// isValue reports whether the token that was just read is, or begins, a value.
func isValue(d *jsontext.Decoder, token jsontext.Token) bool {
	switch token.Kind() {
	case '}', ']':
		return false
	case '"':
		return !isMemberName(d)
	}
	return true
}

func checkToken(d *jsontext.Decoder, token jsontext.Token) error {
	switch token.Kind() {
	case '{', '[':
		if d.StackDepth() > maxDepth {
			return malformed(fmt.Sprintf("the body must not be nested deeper than %d levels", maxDepth))
		}
	case '0':
		if !isExact(token.String()) {
			return malformed("the body contains a number that is too large or too precise")
		}
	case '"':
		if text := token.String(); hasCardNumber(text) {
			return checkCardNumber(d, text)
		}
	}
	return nil
}

// checkCardNumber refuses the string that was just read, unless it is the value of a member
// that may look like a card number.
func checkCardNumber(d *jsontext.Decoder, value string) error {
	at := d.StackPointer()
	if isMemberName(d) {
		return cardNumberRefused(string(at.Parent())) // the pointer would repeat the number
	}
	if !cardNumberIn(at.LastToken(), value) {
		return nil
	}
	return cardNumberRefused(string(at))
}

// isMemberName reports whether the string that was just read is the name of a member.
func isMemberName(d *jsontext.Decoder) bool {
	kind, length := d.StackIndex(d.StackDepth())
	return kind == '{' && length%2 == 1
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
