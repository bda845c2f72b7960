package reference_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"example.com/orders/internal/adapters/in/http/reference"
)

func TestCheck_AcceptsWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1", "A-1", "till-7/receipt 3108", "a+b & c=d?%25", `q"'\`, "заказ №5 & co/1", "café", "注文番号 5", "\U0001F600",
		"رقم ٥", "a a a", strings.Repeat("é", 64),
	} {
		if wrong := reference.Check(text); wrong != "" {
			t.Errorf("%q %s", text, wrong)
		}
	}
}

func TestCheck_RefusesWhatNobodySees(t *testing.T) {
	t.Parallel()
	const unseen = "must have visible characters and single spaces only, not "
	for text, want := range map[string]string{
		"":                        "must have 1–64 characters",
		strings.Repeat("é", 65):   "must have 1–64 characters",
		" ":                       "must not begin or end with a space, or have two spaces in a row",
		" a":                      "must not begin or end with a space, or have two spaces in a row",
		"a ":                      "must not begin or end with a space, or have two spaces in a row",
		"a  b":                    "must not begin or end with a space, or have two spaces in a row",
		"a\u00a0b":                unseen + "U+00A0", // no-break space
		"a\u2003b":                unseen + "U+2003", // em space
		"a\u3000b":                unseen + "U+3000", // ideographic space
		"a\tb":                    unseen + "U+0009",
		"a\n":                     unseen + "U+000A",
		"a\u0000":                 unseen + "U+0000",
		"a\u007f":                 unseen + "U+007F",
		"a\u0085":                 unseen + "U+0085", // next line
		"a\u2028b":                unseen + "U+2028", // line separator
		"a\u00adb":                unseen + "U+00AD", // soft hyphen
		"a\u200bb":                unseen + "U+200B", // zero-width space
		"a\u200db":                unseen + "U+200D", // zero-width joiner
		"a\u2060b":                unseen + "U+2060", // word joiner
		"a\u202eb":                unseen + "U+202E", // right-to-left override
		"\ufeffa":                 unseen + "U+FEFF", // byte order mark
		"a\ufe0f":                 unseen + "U+FE0F", // variation selector
		"a\U000E0101":             unseen + "U+E0101",
		"a\U000E0061":             unseen + "U+E0061", // tag
		"a\u034fb":                unseen + "U+034F",  // combining grapheme joiner
		"a\u115fb":                unseen + "U+115F",  // Hangul fillers
		"a\u3164b":                unseen + "U+3164",
		"a\uffa0b":                unseen + "U+FFA0",
		"a\u2800b":                unseen + "U+2800", // braille pattern blank
		"a\ue000":                 unseen + "U+E000", // private use
		"a\u0378":                 unseen + "U+0378", // unassigned
		"a\ufffd":                 unseen + "U+FFFD",
		"a\xff":                   unseen + "U+FFFD",
		"cafe\u0301":              "must be in Unicode Normalization Form C (NFC)",
		"\u212b":                  "must be in Unicode Normalization Form C (NFC)", // ångström sign
		"\u1112\u1161\u11ab":      "must be in Unicode Normalization Form C (NFC)", // conjoining jamo
		"\U0001D15E":              "must be in Unicode Normalization Form C (NFC)", // excluded from composition
		"\u0958":                  "must be in Unicode Normalization Form C (NFC)",
		"a\u0323\u0307b\u0307":    "must be in Unicode Normalization Form C (NFC)",
		"a" + "\u0307\u0323" + "": "must be in Unicode Normalization Form C (NFC)", // marks in another order
	} {
		if got := reference.Check(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzCheck checks that two different references never differ in unseen characters only.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{"A-1", " a", "a\u200bb", "cafe\u0301", "a\xff", "a\u00a0b", "\ufe0f"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if reference.Check(text) != "" {
			return
		}
		seen := strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.C, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && r != ' ' {
				return -1
			}
			return r
		}, strings.Join(strings.Fields(text), " "))
		if text == "" || !utf8.ValidString(text) || utf8.RuneCountInString(text) > 64 || norm.NFC.String(seen) != text {
			t.Errorf("accepts %q, which is seen as %q", text, seen)
		}
	})
}
