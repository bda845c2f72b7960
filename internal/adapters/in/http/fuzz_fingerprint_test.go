package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"example.com/orders/internal/strictjson"
	"example.com/orders/kit/guard"
)

// FuzzFingerprint checks that a request matches the fingerprint of another one exactly if
// they mean the same. The seeds are random bytes, from which a request is drawn.
func FuzzFingerprint(f *testing.F) {
	random := rand.NewChaCha8([32]byte{'o', 'r', 'd', 'e', 'r', 's'})
	for range 50 {
		seed := make([]byte, 4096)
		_, _ = random.Read(seed) // it never fails
		f.Add(seed)
	}
	f.Fuzz(rapid.MakeFuzz(checkFingerprint))
}

func TestFingerprint_MatchesExactlyEqualRequests(t *testing.T) {
	rapid.Check(t, checkFingerprint)
}

func checkFingerprint(t *rapid.T) {
	value := someObject(2).Draw(t, "value")
	base := drawnRequest{method: "POST", path: "/orders/a@1", query: map[string]string{"a": "1", "b": "&"}, body: spell(t, value)}
	same := base
	same.query = maps.Clone(base.query)
	same.body = spell(t, value)
	same.path = "/orders/" + rapid.SampledFrom([]string{"a@1", "a%401", "%61@%31", "%61%40%31"}).Draw(t, "path spelling")
	if match, err := same.content(t).Matches(base.content(t).Fingerprint()); !match || err != nil {
		t.Fatalf("%+v and %+v mean the same, and do not match: %v", base, same, err)
	}
	changed := base
	switch rapid.SampledFrom([]string{"method", "path", "query", "body"}).Draw(t, "changed") {
	case "method":
		changed.method = "PUT"
	case "path":
		changed.path = "/orders/" + rapid.StringMatching(`[2-9a-z]{1,9}|a@1%2F|a@1%31|a%25401`).Draw(t, "path")
	case "query":
		changed.query = map[string]string{"a": "1", "b": rapid.StringMatching(`[a-z ?=+]{1,9}`).Draw(t, "query")}
	case "body":
		other := changeOne(t, value)
		changed.body = spell(t, other)
	}
	if match, err := changed.content(t).Matches(base.content(t).Fingerprint()); match || err != nil {
		t.Fatalf("different requests match: %+v and %+v: %v", base, changed, err)
	}
}

// drawnRequest is a request with the parts that a fingerprint depends on.
type drawnRequest struct {
	method, path string
	query        map[string]string
	body         string
}

// content returns the content of the request as the guard reads it. The query is spelled in
// one of the ways that mean the same.
func (d drawnRequest) content(t *rapid.T) guard.Content {
	canonical, err := strictjson.Canonicalize([]byte(d.body))
	if err != nil {
		t.Fatal(err)
	}
	parameters := convertAll(rapid.Permutation(slices.Sorted(maps.Keys(d.query))).Draw(t, "order"), func(name string) string {
		everyByte := strings.ReplaceAll(fmt.Sprintf(" % x", d.query[name]), " ", "%")
		return name + "=" + rapid.SampledFrom([]string{url.QueryEscape(d.query[name]), everyByte}).Draw(t, "spelling")
	})
	r := httptest.NewRequest(d.method, d.path+"?"+strings.Join(parameters, "&"), http.NoBody)
	return keyedRequest(route{pattern: "/orders/{order_id}"}, &request{http: r, body: canonical}).Content
}

// someObject draws a JSON object. Texts contain what can be written in several ways and
// no digits, which could be a card number.
func someObject(levels int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(someText(), someValue(levels), 1, 4)
}

func someText() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab\"\\/<&é€😀\n\u0001\u2028 ")), 0, 6, -1)
}

// someValue draws a JSON value: numbers are integers and short decimals, which every
// parser reads exactly.
func someValue(levels int) *rapid.Generator[any] {
	plain := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), someText().AsAny(), someNumber().AsAny(),
	}
	if levels > 0 {
		plain = append(plain, someObject(levels-1).AsAny(), rapid.SliceOfN(someValue(levels-1), 0, 3).AsAny())
	}
	return rapid.OneOf(plain...)
}

// number is a decimal number: units, with the point moved to the left by scale digits.
type number struct {
	units int64
	scale int
}

func someNumber() *rapid.Generator[number] {
	return rapid.Custom(func(t *rapid.T) number {
		return number{rapid.Int64Range(-999_999, 999_999).Draw(t, "units"), rapid.IntRange(0, 3).Draw(t, "scale")}
	})
}

// String writes the number without an exponent.
func (n number) String() string {
	return strconv.FormatFloat(float64(n.units)/float64(pow10(n.scale)), 'f', -1, 64)
}

func pow10(n int) int {
	power := 1
	for range n {
		power *= 10
	}
	return power
}

// spell writes a value in one of the ways that mean the same: with any white space, order
// of members, escapes and notation of numbers.
func spell(t *rapid.T, value any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"}).Draw(t, "space") }
	switch v := value.(type) {
	case map[string]any:
		var members []string
		for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(v))).Draw(t, "order") {
			members = append(members, space()+spellText(t, name)+space()+":"+spell(t, v[name]))
		}
		return space() + "{" + strings.Join(members, ",") + space() + "}" + space()
	case []any:
		elements := convertAll(v, func(element any) string { return spell(t, element) })
		return space() + "[" + strings.Join(elements, ",") + space() + "]" + space()
	case string:
		return space() + spellText(t, v) + space()
	case number:
		return space() + spellNumber(t, v) + space()
	}
	return space() + fmt.Sprint(map[any]any{nil: "null", true: "true", false: "false"}[value]) + space()
}

// spellText writes a text. Each character is as it is, if JSON permits it, or escaped.
func spellText(t *rapid.T, text string) string {
	var out strings.Builder
	for _, char := range text {
		short, _ := json.Marshal(string(char)) // strings can be marshalled
		long := ""
		for _, unit := range utf16.Encode([]rune{char}) {
			long += fmt.Sprintf(rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "hex"), unit)
		}
		ways := []string{string(short[1 : len(short)-1]), long}
		if char >= ' ' && char != '"' && char != '\\' {
			ways = append(ways, string(char))
		}
		out.WriteString(rapid.SampledFrom(ways).Draw(t, "character"))
	}
	return `"` + out.String() + `"`
}

func spellNumber(t *rapid.T, n number) string {
	return rapid.SampledFrom([]string{
		n.String(), fmt.Sprintf("%de-%d", n.units, n.scale), fmt.Sprintf("%d.0E-%d", n.units, n.scale),
	}).Draw(t, "notation")
}

// changeOne returns the object with another value of one member.
func changeOne(t *rapid.T, object map[string]any) map[string]any {
	changed := maps.Clone(object)
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(object))).Draw(t, "member")
	changed[name] = rapid.SampledFrom([]any{
		[]any{object[name]}, map[string]any{"": object[name]}, "other than any drawn text", number{1_000_000, 0},
	}).Draw(t, "new value")
	return changed
}
