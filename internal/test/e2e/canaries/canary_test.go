package canaries_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What every canary of a sort contains, so that one search finds them all.
const (
	textMark  = "Zq9canary"
	phoneMark = "79165557"
	cardMark  = "4111990"
)

// sorts are what is planted. Each makes a value that contains a mark and a number.
var sorts = map[string]func(n int) string{
	"bearer token":         text("tok_%s"),
	"idempotency key":      text("key-%s"),
	"e-mail":               text("anna.%s@example.com"),
	"full name":            text("Anna %s Karenina"),
	"database password":    text("pw_%s"),
	"provider key":         text("sk_test_%s"),
	"webhook secret":       text("whsec_%s"),
	"broker password":      text("nats_%s"),
	"card token":           text("pm_%s"),
	"telephone number":     func(n int) string { return fmt.Sprintf("+%s%04d", phoneMark, n) },
	cardNumber:             func(n int) string { return withCheckDigit(fmt.Sprintf("%s%08d", cardMark, n)) },
	"card number in parts": func(n int) string { return inParts(withCheckDigit(fmt.Sprintf("%s%08d", cardMark, n))) },
}

const cardNumber = "card number"

func text(format string) func(int) string {
	return func(n int) string { return fmt.Sprintf(format, fmt.Sprintf("%s%05d", textMark, n)) }
}

func inParts(digits string) string {
	return digits[:4] + "." + digits[4:8] + "." + digits[8:12] + "." + digits[12:]
}

// withCheckDigit appends the check digit of a card number (ISO/IEC 7812).
func withCheckDigit(digits string) string {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return digits + strconv.Itoa((10-sum%10)%10)
}

// canary is a value that was planted, and where: the name of a member, a parameter or a
// header.
type canary struct{ sort, field, value string }

// nest makes canaries and knows them by their numbers.
type nest struct{ all []canary }

// plant returns a value that has not been planted yet.
func (n *nest) plant(sort, field string) string {
	c := canary{sort, field, sorts[sort](len(n.all))}
	n.all = append(n.all, c)
	return c.value
}

func (n *nest) get(number int) canary {
	if number < 0 || number >= len(n.all) {
		return canary{sort: "a canary of no known number"}
	}
	return n.all[number]
}

var (
	// plain finds canaries as they were planted. A card number may have been joined.
	plain = regexp.MustCompile(`(?i)` + textMark + `(\d{5})|` + phoneMark + `(\d{4})|4111[. -]?990(\d[. -]?\d{4}[. -]?\d{3})\d`)
	// encoded finds marks that somebody has encoded.
	encoded = regexp.MustCompile(strings.Join(encodings(), "|"))
)

// encodings returns patterns of the marks in hexadecimal, in base64 and percent-encoded.
func encodings() []string {
	var patterns []string
	for _, mark := range []string{textMark, phoneMark, cardMark} {
		digits := hex.EncodeToString([]byte(mark))
		patterns = append(patterns, `(?i:`+digits+`)`, `(?i:`+regexp.MustCompile("..").ReplaceAllString(digits, "%$0")+`)`)
		for before := range 3 { // base64 has three forms of a text within another
			for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				form := alphabet.EncodeToString([]byte(strings.Repeat("x", before) + mark))
				whole := (before + len(mark)) / 3 * 4
				patterns = append(patterns, regexp.QuoteMeta(form[(before*8+5)/6:whole]))
			}
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// found is a canary in a text, and the text around it.
type found struct {
	canary
	around string
}

// search returns the canaries in a text, in whatever form.
func (n *nest) search(text string) []found {
	var all []found
	for _, at := range plain.FindAllStringSubmatchIndex(text, -1) {
		number := -1
		for group := 2; group < len(at); group += 2 {
			if at[group] >= 0 {
				digits := regexp.MustCompile(`\D`).ReplaceAllString(text[at[group]:at[group+1]], "")
				number, _ = strconv.Atoi(digits) // the pattern has digits only
			}
		}
		all = append(all, found{n.get(number), around(text, at[0])})
	}
	for _, at := range encoded.FindAllStringIndex(text, -1) {
		all = append(all, found{canary{sort: "encoded canary"}, around(text, at[0])})
	}
	return all
}

func around(text string, at int) string { return text[max(0, at-80):min(len(text), at+80)] }

func TestSearch_FindsEveryForm(t *testing.T) {
	t.Parallel()
	var n nest
	for sort := range sorts {
		value := n.plant(sort, "here")
		if got := n.search("before " + value + " after"); len(got) != 1 || got[0].value != value {
			t.Errorf("%s %s: found %v", sort, value, got)
		}
		if sort == "card number in parts" {
			continue // its mark is not in one piece
		}
		for before := range 4 {
			inside := strings.Repeat("-", before) + value + "--"
			for name, form := range map[string]string{
				"hexadecimal": hex.EncodeToString([]byte(inside)), "base64": base64.StdEncoding.EncodeToString([]byte(inside)),
				"URL-safe base64": base64.RawURLEncoding.EncodeToString([]byte(inside)),
			} {
				if got := n.search(form); len(got) == 0 {
					t.Errorf("%s as %s is not found: %s", value, name, form)
				}
			}
		}
	}
	if got := n.search(strings.Repeat("nothing is here 4242424242424242 +79161234567 ", 100)); len(got) > 0 {
		t.Errorf("found %v in a text without canaries", got)
	}
}
