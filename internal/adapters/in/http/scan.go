package httpapi

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/orders/internal/adapters/in/http/wire"
)

// Limits of a body, far beyond what the contract asks for. A number that is longer, or
// an integer above 2^53, would change in its canonical form.
const (
	maxDepth        = 32
	maxNumberLength = 32
	maxExactInteger = 1 << 53
)

// scan refuses what JSON parsers disagree about, before anything is understood or
// hashed: two readings of one body would be two requests with one fingerprint. It also
// refuses card numbers, which must be neither hashed nor stored.
func scan(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	for more := true; more; more = d.StackDepth() > 0 {
		token, err := d.ReadToken()
		if err != nil {
			return malformed(err)
		}
		if err := scanToken(d, token); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return newProblem(wire.ProblemCodeMalformedRequest, "the body goes on after its JSON value")
	}
	return nil
}

func scanToken(d *jsontext.Decoder, token jsontext.Token) error {
	switch token.Kind() {
	case '{', '[':
		if d.StackDepth() > maxDepth {
			return newProblem(wire.ProblemCodeMalformedRequest, "the body is nested too deeply")
		}
	case '0':
		if !exact(token.String()) {
			return newProblem(wire.ProblemCodeMalformedRequest, "the body has a number that is too large or too precise")
		}
	case '"':
		return scanString(d, token.String())
	}
	return nil
}

// malformed says what is wrong with the JSON; the decoder's own message would quote it.
func malformed(err error) *problem {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return newProblem(wire.ProblemCodeMalformedRequest, "the body names a member twice")
	}
	return newProblem(wire.ProblemCodeMalformedRequest, "the body is not one JSON value in UTF-8")
}

// exact tells whether a JSON number stays what it is in canonical form, which knows
// only float64: 1e999, 9007199254740993 and 0.1000000000000000000001 do not.
func exact(number string) bool {
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
		return !strings.ContainsAny(number, "123456789") // 1e-999 is not 0, and 0e-999999 is a trap
	}
	return sameDecimal(number, strconv.FormatFloat(f, 'g', -1, 64))
}

func sameDecimal(a, b string) bool {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

// identifiers are the members whose form the contract fixes and whose digits mean
// something else: an amount, a barcode, a numeric customer id or a telephone number
// passes for a card number once in ten times.
var identifiers = []string{"amount", "sku", "customer_id", "phone"}

// scanString refuses card numbers wherever a caller can write freely, in values and in
// names of members: they have no place here, and what is kept for 72 hours to be
// replayed must not hold any.
func scanString(d *jsontext.Decoder, s string) error {
	if !hasCardNumber(s) {
		return nil
	}
	at := d.StackPointer()
	if isName(d) {
		at = at.Parent() // the name is the number
	} else if slices.Contains(identifiers, at.LastToken()) {
		return nil
	}
	return validationFailed([]wire.FieldError{{
		Pointer: fragment(string(at)),
		Detail:  "card numbers are not accepted; send the token of a payment method",
	}})
}

// isName tells whether the string just read is the name of a member.
func isName(d *jsontext.Decoder) bool {
	kind, length := d.StackIndex(d.StackDepth())
	return kind == '{' && length%2 == 1
}
