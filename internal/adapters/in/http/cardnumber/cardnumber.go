// Package cardnumber recognises card numbers in text.
//
// The API refuses them in free texts, where people paste them: descriptions, reasons and
// names. A stored response is kept for days to be replayed, and must not contain any. Keys,
// references, SKUs and IDs are numbers by nature. Some look like card numbers by chance, and
// their owners could never use them.
package cardnumber

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	// minCardNumber is the length in digits of the shortest card numbers that are looked
	// for. Barcodes have up to 14, and one in ten has the right check digit.
	minCardNumber = 15
	// maxEscapes bounds the layers of percent-encoding that are decoded.
	maxEscapes = 3
)

// searched are the members with free texts, and that of the card itself.
var searched = []string{"description", "reason", "name", "full_name", "payment_method"}

// InMember reports whether a member is searched for card numbers and contains one.
func InMember(name, value string) bool { return slices.Contains(searched, name) && In(value) }

// Refused is the detail of every such refusal.
const Refused = "must not contain a card number; send a payment method token"

// In reports whether a text contains a card number as people write it: digits in any
// script, in one piece or in groups that spaces or punctuation separate,
// percent-encoded or not.
func In(s string) bool {
	for range maxEscapes {
		if !hasDigits(s, minCardNumber) {
			return false
		}
		if strings.Trim(s, "0123456789") == "" {
			return isCardNumber(s) // most keys made of digits end here
		}
		for _, run := range digitRuns.FindAllString(plainDigits(s), -1) {
			if hasCardGroups(separators.Split(run, -1)) {
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

// hasDigits reports whether a text can have as many digits with no letter in between.
// It spares most texts the rest.
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
	// generated matches generated hexadecimal ids: UUIDs, object ids, hashes. Some
	// contain a card number by chance.
	generated = regexp.MustCompile(`(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{20,}`)
	// enumeration separates numbers in a list.
	enumeration   = regexp.MustCompile(`[,;]\s`)
	percentEscape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

	digitRuns  = regexp.MustCompile(`[0-9]+(?: {1,3}[0-9]+)*`)
	separators = regexp.MustCompile(` +`)
)

func unescape(escape string) string {
	decoded, _ := hex.DecodeString(escape[1:]) // two hexadecimal digits
	return string(decoded)
}

// plainDigits returns a text with ASCII digits, with spaces for group separators, and
// with letters for everything else.
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

// digitValue returns a decimal digit's value in any script. In Unicode, the ten digits
// of a script are consecutive and start where the range starts.
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

// hasCardGroups reports whether digit groups are or contain a card number. People write
// groups with four or more digits, the last of which may be shorter (4-4-4-4, 4-6-5,
// 4-4-4-4-3, 8-8), or small groups with one size. Dates, amounts and telephone numbers
// are grouped differently.
func hasCardGroups(groups []string) bool {
	if isCardNumber(strings.Join(groups, "")) && haveOneSize(groups) {
		return true
	}
	for i, first := range groups {
		if isCardNumber(first) {
			return true
		}
		for j := i + 1; j < min(i+maxGroups, len(groups)) && len(groups[j-1]) >= 4; j++ {
			if isCardNumber(strings.Join(groups[i:j+1], "")) {
				return true
			}
		}
	}
	return false
}

// maxGroups is the group count of the longest card number, 4-4-4-4-3.
const maxGroups = 5

// haveOneSize reports whether all groups but the last, which may be shorter, are equally
// long.
func haveOneSize(groups []string) bool {
	size, last := len(groups[0]), len(groups)-1
	return len(groups[last]) <= size &&
		!slices.ContainsFunc(groups[:last], func(group string) bool { return len(group) != size })
}

// issued matches the prefixes that payment networks issue, with their number lengths from
// minCardNumber.
// Timestamps and dates start with other digits.
var issued = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`4(?:[0-9]{15}|[0-9]{18})`, // Visa
	`5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}`, // Mastercard
	`5[06-9][0-9]{14,17}|6[0-9]{15,18}`,                                              // Maestro, Discover, UnionPay
	`3[47][0-9]{13}`,                                                                 // American Express
	`3[689][0-9]{14}`,                                                                // Diners Club
	`35(?:2[89]|[3-8][0-9])[0-9]{12,15}`,                                             // JCB
	`220[0-5][0-9]{12,15}`,                                                           // Mir
	`8[12][0-9]{14,17}|8600[0-9]{12}|9[78][0-9]{14}`,                                 // RuPay, Uzcard, Humo, Napas, Troy
}, "|") + `)$`)

func isCardNumber(digits string) bool {
	return luhn(digits) && issued.MatchString(digits)
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
