package httpapi

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"example.com/orders/internal/adapters/in/http/wire"
)

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	const odd = "!#$%&'()*+-./0:<=>?@AZ[]^_`az{|}~"
	long := strings.Repeat("k", maxKeyLength)
	for name, c := range map[string]struct {
		sent []string
		key  string
		code wire.ProblemCode
	}{
		"bare":                        {[]string{"key"}, "key", ""},
		"quoted":                      {[]string{`"key"`}, "key", ""},
		"case counts":                 {[]string{"Key"}, "Key", ""},
		"white space around":          {[]string{" \tkey\t "}, "key", ""},
		"white space around quotes":   {[]string{"\t\"key\" "}, "key", ""},
		"every character":             {[]string{odd}, odd, ""},
		"every character, quoted":     {[]string{`"` + odd + `"`}, odd, ""},
		"as long as allowed":          {[]string{long}, long, ""},
		"as long as allowed, quoted":  {[]string{`"` + long + `"`}, long, ""},
		"absent":                      {nil, "", wire.ProblemCodeIdempotencyKeyRequired},
		"empty":                       {[]string{""}, "", wire.ProblemCodeIdempotencyKeyRequired},
		"blank":                       {[]string{" \t "}, "", wire.ProblemCodeIdempotencyKeyRequired},
		"empty quotes":                {[]string{`""`}, "", wire.ProblemCodeIdempotencyKeyRequired},
		"blank quotes":                {[]string{`" "`}, "", wire.ProblemCodeIdempotencyKeyRequired},
		"one character more":          {[]string{long + "k"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"one character more, quoted":  {[]string{`"` + long + `k"`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"twice":                       {[]string{"key", "key"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"twice, one empty":            {[]string{"", "key"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"twice, halves of quotes":     {[]string{`"key`, `"`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"folded":                      {[]string{"key, other"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"only a quote":                {[]string{`"`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a quote opened":              {[]string{`"key`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a quote closed":              {[]string{`key"`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a quote within":              {[]string{`k"y`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"quotes in quotes":            {[]string{`""key""`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a parameter":                 {[]string{"key;a=b"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a backslash":                 {[]string{`"k\\y"`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a space within":              {[]string{"k y"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a space within quotes":       {[]string{`"key "`}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a tab within":                {[]string{"k\ty"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a new line":                  {[]string{"key\n"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a null character":            {[]string{"k\x00y"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a delete character":          {[]string{"key\x7f"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"Cyrillic":                    {[]string{"ключ"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a byte that is no UTF-8":     {[]string{"k\xffy"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
		"a space that is not ASCII's": {[]string{"\u00a0key"}, "", wire.ProblemCodeIdempotencyKeyInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := idempotencyKey(http.Header{"Idempotency-Key": c.sent})
			if codeOf(err) != c.code || (err == nil && key != c.key) {
				t.Errorf("got %q, %v; want %q, %q", key, err, c.key, c.code)
			}
		})
	}
}

// contractKey is the rule of the contract, for the header as it is on the wire.
var contractKey = regexp.MustCompile(strings.ReplaceAll(`^[ \t]*(?:(KEY)|"(KEY)")[ \t]*$`, "KEY",
	`[!#$%&'()*+\-./0-9:<=>?@A-Z\[\]^_\x60a-z{|}~]{1,255}`))

// What is accepted is what the contract describes, and a key in quotes is the key.
func FuzzIdempotencyKey(f *testing.F) {
	for _, value := range []string{
		"", " ", `"`, `""`, `" "`, "key", `"key"`, `"key`, `"k"ey"`, "a,b", `a\b`, "a;b", "ключ", "k\u00a0", "k\x00", " key\t",
		strings.Repeat("k", 255), strings.Repeat("k", 256), `"` + strings.Repeat("k", 255) + `"`,
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := idempotencyKey(http.Header{"Idempotency-Key": {value}})
		var inContract string
		if match := contractKey.FindStringSubmatch(value); match != nil {
			inContract = match[1] + match[2]
		}
		if err != nil {
			if code := codeOf(err); code != wire.ProblemCodeIdempotencyKeyRequired && code != wire.ProblemCodeIdempotencyKeyInvalid {
				t.Errorf("%q: %v", value, err)
			}
			if inContract != "" {
				t.Errorf("%q is a key of the contract and was refused: %v", value, err)
			}
			return
		}
		if key != inContract {
			t.Errorf("%q was taken for the key %q, and is %q by the contract", value, key, inContract)
		}
		for _, spelled := range []string{key, `"` + key + `"`} {
			if again, err := idempotencyKey(http.Header{"Idempotency-Key": {spelled}}); err != nil || again != key {
				t.Errorf("%q is the key %q, but %q is %q: %v", value, key, spelled, again, err)
			}
		}
	})
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	of := func(method, target, body string) string {
		return string(fingerprint(httptest.NewRequest(method, target, nil), []byte(body)))
	}
	base := of("POST", "/orders/1/cancel?a=1&b=2", `{"reason":"x"}`)
	if len(base) != 33 || base[0] != fingerprintVersion {
		t.Errorf("got %x, want the version and 32 bytes", base)
	}
	for name, same := range map[string]string{
		"the same":          of("POST", "/orders/1/cancel?a=1&b=2", `{"reason":"x"}`),
		"the query's order": of("POST", "/orders/1/cancel?b=2&a=1", `{"reason":"x"}`),
	} {
		if same != base {
			t.Errorf("%s makes another fingerprint", name)
		}
	}
	for name, other := range map[string]string{
		"the method":             of("PUT", "/orders/1/cancel?a=1&b=2", `{"reason":"x"}`),
		"the path":               of("POST", "/orders/2/cancel?a=1&b=2", `{"reason":"x"}`),
		"an escape in the path":  of("POST", "/orders/1%2Fcancel?a=1&b=2", `{"reason":"x"}`),
		"a value in the query":   of("POST", "/orders/1/cancel?a=1&b=3", `{"reason":"x"}`),
		"a name in the query":    of("POST", "/orders/1/cancel?a=1&c=2", `{"reason":"x"}`),
		"no query":               of("POST", "/orders/1/cancel", `{"reason":"x"}`),
		"values' order":          of("POST", "/orders/1/cancel?a=1&b=2&b=1", `{"reason":"x"}`),
		"the body":               of("POST", "/orders/1/cancel?a=1&b=2", `{"reason":"y"}`),
		"no body":                of("POST", "/orders/1/cancel?a=1&b=2", ``),
		"a border between parts": of("POST", "/orders/1/cance", `la=1&b=2{"reason":"x"}`),
		"another border":         of("POST", "/orders/1/cancel?a=1", `&b=2{"reason":"x"}`),
		"a query that is none":   of("POST", "/orders/1/cancel?a=1&b=2;x", `{"reason":"x"}`),
		"a query in the path":    of("POST", "/orders/1/cancel%3Fa=1&b=2", `{"reason":"x"}`),
	} {
		if other == base {
			t.Errorf("%s does not count", name)
		}
	}
}
