package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/orders/internal/adapters/in/http/cardnumber"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/reference"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/strictjson"
)

// Body limits, beyond what the contract needs: the largest legal body, an order with
// 100 items, has 304 values on 3 levels. A number beyond the limits would change in
// canonical form.
const (
	maxDepth        = 16
	maxValues       = 500
	maxNumberLength = 32
	maxExactInteger = 1 << 53
)

// reader checks a body against the shape while it reads it, and writes it in canonical
// form (RFC 8785) except for the order of members.
type reader struct {
	*jsontext.Decoder
	values    int
	canonical []byte
	// disordered reports that members of an object are not in canonical order.
	disordered bool
	path       []string
	// refused are the violated rules, and cards the texts with a card number.
	refused, cards []wire.FieldError
}

// decoders keeps decoders for other bodies, because a new one makes many allocations.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// read returns a body in canonical form. It refuses a body about which JSON parsers disagree:
// two readings would be two requests with one fingerprint. A nil shape allows any value. Card
// numbers must be neither hashed nor stored. They are looked for in valid texts only, because
// that is slow in a long text.
func read(s *shape, body []byte) ([]byte, error) {
	d, _ := decoders.Get().(*jsontext.Decoder) // the pool holds decoders only
	defer decoders.Put(d)
	d.Reset(bytes.NewBuffer(body))
	r := reader{Decoder: d, canonical: make([]byte, 0, len(body)), path: make([]string, 0, maxDepth)}
	if err := r.value(s); err != nil {
		return nil, malformed(body, r.InputOffset(), err)
	}
	end := len(body) - len(bytes.TrimLeft(body[r.InputOffset():], " \t\r\n"))
	if _, err := r.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformed(body, int64(end), syntaxError("unexpected data after the JSON value"))
	}
	switch {
	case r.refused != nil || r.cards != nil:
		return nil, problem.Invalid(slices.Concat(r.refused, r.cards)...)
	case r.disordered:
		return strictjson.Canonicalize(r.canonical)
	}
	return r.canonical, nil
}

// value reads a value.
func (r *reader) value(s *shape) (err error) {
	var raw jsontext.Value
	kind := r.PeekKind()
	if kind == '{' || kind == '[' {
		_, err = r.ReadToken()
	} else {
		raw, err = r.ReadValue()
	}
	if err != nil {
		return err
	}
	r.values++
	if r.values > maxValues {
		return syntaxError(fmt.Sprintf("the body must not have more than %d values", maxValues))
	}
	if r.StackDepth() > maxDepth {
		return syntaxError(fmt.Sprintf("the body must not be nested deeper than %d levels", maxDepth))
	}
	switch kind {
	case '{':
		return r.object(r.as("object", s))
	case '[':
		return r.array(r.as("array", s))
	case '"':
		r.text(r.as("string", s), unquoted(raw))
	case '0':
		return r.number(r.as("integer", s), string(raw))
	case 't', 'f':
		r.boolean(r.as("boolean", s), string(raw))
	default:
		r.as("null", s)
		r.canonical = append(r.canonical, raw...)
	}
	return nil
}

// as returns the shape of a value with a type, or nil where the shape has a different
// type.
func (r *reader) as(kind string, s *shape) *shape {
	if s != nil && s.Type != kind {
		r.refuse("must be of type " + s.Type)
		return nil
	}
	return s
}

func (r *reader) object(s *shape) error {
	r.canonical = append(r.canonical, '{')
	names := make([]string, 0, 8)
	for r.PeekKind() != '}' {
		raw, err := r.ReadValue()
		if err != nil {
			return err
		}
		member, name := r.member(s, unquoted(raw))
		if len(names) > 0 {
			r.canonical = append(r.canonical, ',')
			r.disordered = r.disordered || name < names[len(names)-1] || strings.ContainsFunc(name, beyondFirstPlane)
		}
		names = append(names, name)
		r.canonical, _ = jsontext.AppendQuote(r.canonical, name) // it is UTF-8
		r.canonical = append(r.canonical, ':')
		r.path = append(r.path, name)
		if err := r.value(member); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
	}
	_, err := r.ReadToken()
	r.canonical = append(r.canonical, '}')
	r.require(s, names)
	return err
}

// beyondFirstPlane reports whether UTF-16, by which names are ordered, needs two units for a
// character. Such a name may precede one that is smaller in UTF-8.
func beyondFirstPlane(c rune) bool { return c > 0xffff }

// member returns the shape of a member, nil for an unknown one, and the name.
func (r *reader) member(s *shape, text []byte) (*shape, string) {
	if s == nil {
		return nil, string(text)
	}
	if member := s.Properties[string(text)]; member != nil {
		return member, member.name
	}
	name := string(text)
	switch {
	case s.AdditionalProperties == nil:
	case isPrivate(name):
		r.refuse("has a member that is not known")
	default:
		r.refuse(unknownMember, name)
	}
	return nil, name
}

func (r *reader) require(s *shape, names []string) {
	if s == nil {
		return
	}
	for _, name := range s.Required {
		if !slices.Contains(names, name) {
			r.refuse("is required", name)
		}
	}
	r.bounded(s.MinProperties, nil, len(names), "member")
	r.requireOne(s.alternatives, names)
}

func (r *reader) array(s *shape) error {
	r.canonical = append(r.canonical, '[')
	var items *shape
	if s != nil {
		items = s.Items
	}
	n := 0
	for ; r.PeekKind() != ']'; n++ {
		if n > 0 {
			r.canonical = append(r.canonical, ',')
		}
		r.path = append(r.path, strconv.Itoa(n))
		if err := r.value(items); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
	}
	_, err := r.ReadToken()
	r.canonical = append(r.canonical, ']')
	if s != nil {
		r.bounded(s.MinItems, s.MaxItems, n, "item")
	}
	return err
}

func (r *reader) text(s *shape, text []byte) {
	r.canonical, _ = jsontext.AppendQuote(r.canonical, text) // it is UTF-8
	if s == nil {
		return
	}
	before := len(r.refused)
	if s.Enum != nil && !slices.Contains(s.Enum, string(text)) {
		r.refuse("must be one of " + strings.Join(s.Enum, ", "))
	}
	if s.Format == "reference" {
		r.reference(string(text))
	} else {
		r.characters(s, text)
	}
	if len(r.refused) == before && cardnumber.InMember(s.name, string(text)) {
		r.cards = append(r.cards, wire.FieldError{Pointer: problem.Pointer(r.path...), Detail: cardnumber.Refused})
	}
}

// reference checks a reference by more rules than the pattern has.
func (r *reader) reference(text string) {
	if wrong := reference.Check(text); wrong != "" {
		r.refuse(wrong)
	}
}

func (r *reader) characters(s *shape, text []byte) {
	if s.pattern != nil && !s.pattern.Match(text) {
		r.refuse(patternTexts[s.Pattern])
	}
	r.bounded(s.MinLength, s.MaxLength, utf8.RuneCount(text), "character")
}

func (r *reader) boolean(s *shape, value string) {
	r.canonical = append(r.canonical, value...)
	if s != nil && s.Enum != nil && !slices.Contains(s.Enum, value) {
		r.refuse("must be " + strings.Join(s.Enum, " or "))
	}
}

func (r *reader) number(s *shape, number string) error {
	if !isExact(number) {
		return syntaxError("the body contains a number that is too large or too precise")
	}
	if s == nil {
		r.canonical = append(r.canonical, number...)
		return nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f != math.Trunc(f) {
		r.refuse("must be of type " + s.Type)
		return err
	}
	n := int64(f)
	r.canonical = strconv.AppendInt(r.canonical, n, 10)
	if s.Minimum != nil && n < *s.Minimum {
		r.refuse("must be at least " + strconv.FormatInt(*s.Minimum, 10))
	}
	if s.Maximum != nil && n > *s.Maximum {
		r.refuse("must be at most " + strconv.FormatInt(*s.Maximum, 10))
	}
	return nil
}

// unquoted returns the text of a JSON string.
func unquoted(raw jsontext.Value) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // it is valid
	return text
}

// syntaxError is a mistake in words for the client. It repeats no part of the body
// (AUTH-16).
type syntaxError string

// Error returns the mistake.
func (e syntaxError) Error() string { return string(e) }

// malformed returns the refusal for a mistake at an offset. A decoder error has a better
// offset, and a message that would quote the body (AUTH-16).
func malformed(body []byte, offset int64, err error) *problem.Problem {
	mistake, ok := errors.AsType[syntaxError](err)
	if syntactic, found := errors.AsType[*jsontext.SyntacticError](err); found {
		offset = syntactic.ByteOffset
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
	return problem.New(wire.ProblemCodeMalformedRequest,
		fmt.Sprintf("%s (line %d, column %d)", mistake, bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(line)+1))
}

// isExact reports whether a JSON number keeps the value in canonical form, which has
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
