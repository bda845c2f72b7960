// Package reference decides which texts can be a reference, the ID that the caller
// chooses for an intent.
//
// A reference stops a second effect only if everybody who means one intent sends one
// text. So texts that look alike must not differ in characters that are not seen. They
// are refused and not repaired, so that a caller finds in responses, lists and own
// records what it has sent.
package reference

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxLength is the longest reference in characters.
const maxLength = 64

// blanks are printable characters that leave no mark.
const blanks = "\u2800\U00016FE4\U0001D159"

// Check returns why a text cannot be a reference, or "".
func Check(text string) string {
	if n := utf8.RuneCountInString(text); n < 1 || n > maxLength {
		return fmt.Sprintf("must have 1–%d characters", maxLength)
	}
	for _, r := range text {
		if !visible(r) {
			return fmt.Sprintf("must have visible characters and single spaces only, not U+%04X", r)
		}
	}
	if strings.HasPrefix(text, " ") || strings.HasSuffix(text, " ") || strings.Contains(text, "  ") {
		return "must not begin or end with a space, or have two spaces in a row"
	}
	if !norm.NFC.IsNormalString(text) {
		return "must be in Unicode Normalization Form C (NFC)"
	}
	return ""
}

// visible reports whether a character has a mark in every font, or is the ASCII space. The
// replacement character stands for text that was lost, or that is not UTF-8.
func visible(r rune) bool {
	return unicode.IsPrint(r) && r != utf8.RuneError && !strings.ContainsRune(blanks, r) &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
