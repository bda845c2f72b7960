package httpapi

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/idempotency"
)

// Card numbers are refused wherever a caller can write freely: in keys, SKUs, references
// and texts. A stored response is kept for days to be replayed, and must not contain any.
// The ids of customers are the issuer's: some have as many digits, and are no card numbers.

const (
	// minCardNumber is the number of digits of the shortest card number.
	minCardNumber = 13
	// minInIdentifier is the number of digits from which a card number is refused in an
	// identifier. Barcodes have up to 14 digits, and one in ten has the right check digit.
	minInIdentifier = 15
	// maxEscapes is how many layers of percent-encoding are read.
	maxEscapes = 3
)

// identifiers are the members that may consist of many digits.
var identifiers = []string{"sku", "phone"}

// cardNumberIn reports whether the value of a member or a parameter has a card number. The
// form of an amount is fixed by the contract, and its digits are anything.
func cardNumberIn(name, value string) bool {
	switch {
	case name == "amount", name == "customer_id":
		return false
	case slices.Contains(identifiers, name):
		return hasCardNumberOf(minInIdentifier, value)
	}
	return hasCardNumber(value)
}

const cardNumberDetail = "must not contain a card number; send a payment method token"

// cardNumberRefused returns the refusal of a card number at a JSON pointer.
func cardNumberRefused(pointer string) error {
	return validationFailed([]wire.FieldError{{Pointer: fragment(pointer), Detail: cardNumberDetail}})
}

// cardNumbersIn returns an entry for each text of a valid body, below a location, that has a
// card number.
func cardNumbersIn(location []string, value any) (found []wire.FieldError) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			found = append(found, cardNumbersIn(append(slices.Clip(location), name), member)...)
		}
	case []any:
		for i, element := range value {
			found = append(found, cardNumbersIn(append(slices.Clip(location), strconv.Itoa(i)), element)...)
		}
	case string:
		if len(location) > 0 && cardNumberIn(location[len(location)-1], value) {
			found = append(found, wire.FieldError{Pointer: pointer(location), Detail: cardNumberDetail})
		}
	}
	return found
}

// errCardNumberAsKey refuses a card number in an Idempotency-Key.
var errCardNumberAsKey = fmt.Errorf("%w: it must not look like a card number; a UUID never does", idempotency.ErrKeyInvalid)

// hasCardNumber reports whether a text contains a card number in a notation that people
// use: digits of any script, in one piece or in groups, with spaces or punctuation between
// the groups, percent-encoded or not.
func hasCardNumber(s string) bool { return hasCardNumberOf(minCardNumber, s) }

// hasCardNumberOf is [hasCardNumber] for numbers of some length and more.
func hasCardNumberOf(shortest int, s string) bool {
	for range maxEscapes {
		if !hasDigits(s, shortest) {
			return false
		}
		if strings.Trim(s, "0123456789") == "" {
			return isCardNumber(shortest, s) // most keys made of digits end here
		}
		for _, run := range digitRuns.FindAllString(plainDigits(s), -1) {
			if hasCardGroups(shortest, separators.Split(run, -1)) {
				return true
			}
		}
		if !strings.Contains(s, "%") {
			return false
		}
		s = percentEscape.ReplaceAllStringFunc(s, unescape)
	}
	return false
}

// hasDigits reports whether a text can have as many digits without a letter in between. It
// spares most texts the rest.
func hasDigits(s string, n int) bool {
	found, missing := false, n
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x80 || c == '%':
			return true
		case c >= '0' && c <= '9':
			missing--
			found = found || missing == 0
		case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
			missing = n
		}
	}
	return found
}

var (
	// generated matches what programs make of hexadecimal digits: UUIDs, object ids, hashes.
	// Some of them contain a card number by chance.
	generated = regexp.MustCompile(`(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{20,}`)
	// enumeration separates numbers of a list.
	enumeration   = regexp.MustCompile(`[,;]\s`)
	percentEscape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

	digitRuns  = regexp.MustCompile(`[0-9]+(?: {1,3}[0-9]+)*`)
	separators = regexp.MustCompile(` +`)
)

func unescape(escape string) string {
	decoded, _ := hex.DecodeString(escape[1:]) // two hexadecimal digits
	return string(decoded)
}

// plainDigits returns a text with ASCII digits, with spaces for what separates groups, and
// with letters for all else.
func plainDigits(s string) string {
	s = enumeration.ReplaceAllLiteralString(generated.ReplaceAllLiteralString(s, "x"), "x")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '0' + digitValue(r)
		case unicode.IsLetter(r):
			return 'x'
		case unicode.In(r, unicode.Cf, unicode.M): // invisible, or a mark on a digit
			return -1
		}
		return ' '
	}, s)
}

// digitValue returns the value of a decimal digit of any script. In Unicode, the ten digits
// of a script follow one another, and begin where the range begins.
func digitValue(r rune) rune {
	for _, scripts := range unicode.Nd.R16 {
		if rune(scripts.Lo) <= r && r <= rune(scripts.Hi) {
			return (r - rune(scripts.Lo)) % 10
		}
	}
	for _, scripts := range unicode.Nd.R32 {
		if rune(scripts.Lo) <= r && r <= rune(scripts.Hi) {
			return (r - rune(scripts.Lo)) % 10
		}
	}
	return 0
}

// hasCardGroups reports whether groups of digits are a card number, or contain one. People
// write groups of four digits and more, of which the last may be shorter (4-4-4-4, 4-6-5,
// 4-4-4-4-3, 8-8), or small groups of one size. Dates, amounts and telephone numbers are
// grouped in other ways.
func hasCardGroups(shortest int, groups []string) bool {
	if isCardNumber(shortest, strings.Join(groups, "")) && haveOneSize(groups) {
		return true
	}
	for i, first := range groups {
		if isCardNumber(shortest, first) {
			return true
		}
		for j := i + 1; j < min(i+maxGroups, len(groups)) && len(groups[j-1]) >= 4; j++ {
			if isCardNumber(shortest, strings.Join(groups[i:j+1], "")) {
				return true
			}
		}
	}
	return false
}

// maxGroups is the number of groups of the longest card number, 4-4-4-4-3.
const maxGroups = 5

// haveOneSize reports whether all groups but the last, which may be shorter, are equally
// long.
func haveOneSize(groups []string) bool {
	size, last := len(groups[0]), len(groups)-1
	return len(groups[last]) <= size &&
		!slices.ContainsFunc(groups[:last], func(group string) bool { return len(group) != size })
}

// issued matches the first digits that payment networks issue, with the lengths of their
// numbers. Timestamps and dates begin with other digits.
var issued = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})`,                                             // Visa
	`5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}`, // Mastercard
	`5[06-9][0-9]{14,17}|6[0-9]{15,18}`,                                              // Maestro, Discover, UnionPay
	`3[47][0-9]{13}`,                                                                 // American Express
	`3(?:0[0-5]|[689][0-9])[0-9]{11}|3[689][0-9]{14}`,                                // Diners Club
	`35(?:2[89]|[3-8][0-9])[0-9]{12,15}`,                                             // JCB
	`220[0-5][0-9]{12,15}`,                                                           // Mir
	`8[12][0-9]{14,17}|8600[0-9]{12}|9[78][0-9]{14}`,                                 // RuPay, Uzcard, Humo, Napas, Troy
}, "|") + `)$`)

func isCardNumber(shortest int, digits string) bool {
	return len(digits) >= shortest && luhn(digits) && issued.MatchString(digits)
}

// luhn reports whether the check digit is right (ISO/IEC 7812).
func luhn(digits string) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return sum%10 == 0
}
