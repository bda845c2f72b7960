package httpapi

import (
	"regexp"
	"slices"
	"strings"

	"example.com/orders/internal/adapters/in/http/wire"
)

// Card numbers are refused wherever a caller can write freely. A stored response is
// kept for days to be replayed, and must not contain any.

// identifiers are the members that may contain any digits. Their form is fixed by the
// contract, and an amount, a barcode, a numeric customer id or a telephone number
// passes for a card number once in ten times.
var identifiers = []string{"amount", "sku", "customer_id", "phone"}

func isIdentifier(member string) bool { return slices.Contains(identifiers, member) }

// cardNumberRefused returns the refusal of a card number at a JSON pointer of the body.
func cardNumberRefused(pointer string) error {
	return validationFailed([]wire.FieldError{{
		Pointer: fragment(pointer),
		Detail:  "must not contain a card number; send a payment method token",
	}})
}

// Card numbers as people write them: in one piece, or in groups of which the first has
// four digits (4-4-4-4, 4-6-5, 4-4-4-4-3). Dates and serial numbers are grouped in
// other ways.
var (
	digitGroups = regexp.MustCompile(`[0-9]+(?:[ -]+[0-9]+)*`)
	separators  = regexp.MustCompile(`[ -]+`)
	// issued matches the first digits that payment networks issue, with the lengths of
	// their numbers. Timestamps and dates begin with other digits.
	issued = regexp.MustCompile(`^(?:2[2-7][0-9]{14,17}|3[0-9]{13,18}|[4-6][0-9]{12,18})$`)
)

// minCardNumber is the number of digits of the shortest card number.
const minCardNumber = 13

// hasCardNumber reports whether a text contains 13 to 19 digits that a payment network
// could have issued, with the right check digit.
func hasCardNumber(s string) bool {
	if len(s) < minCardNumber {
		return false
	}
	for _, run := range digitGroups.FindAllString(s, -1) {
		if hasCardGroups(separators.Split(run, -1)) {
			return true
		}
	}
	return false
}

func hasCardGroups(groups []string) bool {
	for i, first := range groups {
		if isCardNumber(first) {
			return true
		}
		if len(first) != 4 {
			continue
		}
		for j := i + 2; j <= min(i+5, len(groups)); j++ {
			if isCardNumber(strings.Join(groups[i:j], "")) {
				return true
			}
		}
	}
	return false
}

func isCardNumber(digits string) bool { return issued.MatchString(digits) && luhn(digits) }

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
