package httpapi

import (
	"regexp"
	"strings"
)

// Card numbers as people write them: in one piece, or in groups of which the first has
// four digits (4-4-4-4, 4-6-5, 4-4-4-4-3). Dates and running numbers are written in
// other groups.
var (
	digitGroups = regexp.MustCompile(`[0-9]+(?:[ -]+[0-9]+)*`)
	separators  = regexp.MustCompile(`[ -]+`)
	// issued are the first digits that payment networks use, with the lengths of their
	// numbers. Time stamps and dates begin otherwise.
	issued = regexp.MustCompile(`^(?:2[2-7][0-9]{14,17}|3[0-9]{13,18}|[4-6][0-9]{12,18})$`)
)

// minCardNumber is the number of digits in the shortest card number.
const minCardNumber = 13

// hasCardNumber tells whether a text holds 13 to 19 digits that a payment network
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

// luhn checks the last digit (ISO/IEC 7812).
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
