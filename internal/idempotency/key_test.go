package idempotency_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"example.com/orders/internal/idempotency"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	const odd = "!#$%&'()*+-./0:<=>?@AZ[]^_`az{|}~"
	long := strings.Repeat("k", idempotency.MaxKeyLength)
	for name, c := range map[string]struct {
		sent []string
		key  string
		err  error
	}{
		"bare":                       {[]string{"key"}, "key", nil},
		"quoted":                     {[]string{`"key"`}, "key", nil},
		"case counts":                {[]string{"Key"}, "Key", nil},
		"white space around":         {[]string{" \tkey\t "}, "key", nil},
		"white space around quotes":  {[]string{"\t\"key\" "}, "key", nil},
		"every character":            {[]string{odd}, odd, nil},
		"every character, quoted":    {[]string{`"` + odd + `"`}, odd, nil},
		"as long as allowed":         {[]string{long}, long, nil},
		"as long as allowed, quoted": {[]string{`"` + long + `"`}, long, nil},
		"absent":                     {nil, "", idempotency.ErrKeyRequired},
		"empty":                      {[]string{""}, "", idempotency.ErrKeyRequired},
		"blank":                      {[]string{" \t "}, "", idempotency.ErrKeyRequired},
		"empty quotes":               {[]string{`""`}, "", idempotency.ErrKeyRequired},
		"blank quotes":               {[]string{`" "`}, "", idempotency.ErrKeyRequired},
		"one character more":         {[]string{long + "k"}, "", idempotency.ErrKeyInvalid},
		"one character more, quoted": {[]string{`"` + long + `k"`}, "", idempotency.ErrKeyInvalid},
		"twice":                      {[]string{"key", "key"}, "", idempotency.ErrKeyInvalid},
		"twice, one empty":           {[]string{"", "key"}, "", idempotency.ErrKeyInvalid},
		"twice, halves of quotes":    {[]string{`"key`, `"`}, "", idempotency.ErrKeyInvalid},
		"a list":                     {[]string{"key, other"}, "", idempotency.ErrKeyInvalid},
		"only a quote":               {[]string{`"`}, "", idempotency.ErrKeyInvalid},
		"a quote opened":             {[]string{`"key`}, "", idempotency.ErrKeyInvalid},
		"a quote closed":             {[]string{`key"`}, "", idempotency.ErrKeyInvalid},
		"a quote within":             {[]string{`k"y`}, "", idempotency.ErrKeyInvalid},
		"quotes in quotes":           {[]string{`""key""`}, "", idempotency.ErrKeyInvalid},
		"a parameter":                {[]string{"key;a=b"}, "", idempotency.ErrKeyInvalid},
		"a backslash":                {[]string{`"k\\y"`}, "", idempotency.ErrKeyInvalid},
		"a space within":             {[]string{"k y"}, "", idempotency.ErrKeyInvalid},
		"a space within quotes":      {[]string{`"key "`}, "", idempotency.ErrKeyInvalid},
		"a tab within":               {[]string{"k\ty"}, "", idempotency.ErrKeyInvalid},
		"a line break":               {[]string{"key\n"}, "", idempotency.ErrKeyInvalid},
		"a null character":           {[]string{"k\x00y"}, "", idempotency.ErrKeyInvalid},
		"a delete character":         {[]string{"key\x7f"}, "", idempotency.ErrKeyInvalid},
		"Cyrillic":                   {[]string{"ключ"}, "", idempotency.ErrKeyInvalid},
		"a byte that is not UTF-8":   {[]string{"k\xffy"}, "", idempotency.ErrKeyInvalid},
		"a space beyond ASCII":       {[]string{"\u00a0key"}, "", idempotency.ErrKeyInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := idempotency.ParseKey(c.sent)
			if !errors.Is(err, c.err) || (err == nil && key != c.key) {
				t.Errorf("got %q, %v; want %q, %v", key, err, c.key, c.err)
			}
		})
	}
}

// contractKey is the rule of api/openapi.yaml for the header as it is sent.
var contractKey = regexp.MustCompile(strings.ReplaceAll(`^[ \t]*(?:(KEY)|"(KEY)")[ \t]*$`, "KEY",
	`[!#$%&'()*+\-./0-9:<=>?@A-Z\[\]^_\x60a-z{|}~]{1,255}`))

// FuzzParseKey checks that ParseKey accepts exactly what the contract describes, and that
// a key is the same with and without quotes.
func FuzzParseKey(f *testing.F) {
	for _, value := range []string{
		"", " ", `"`, `""`, `" "`, "key", `"key"`, `"key`, `"k"ey"`, "a,b", `a\b`, "a;b", "ключ", "k\u00a0", "k\x00", " key\t",
		strings.Repeat("k", 255), strings.Repeat("k", 256), `"` + strings.Repeat("k", 255) + `"`,
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := idempotency.ParseKey([]string{value})
		var inContract string
		if match := contractKey.FindStringSubmatch(value); match != nil {
			inContract = match[1] + match[2]
		}
		if err != nil {
			if !errors.Is(err, idempotency.ErrKeyRequired) && !errors.Is(err, idempotency.ErrKeyInvalid) {
				t.Errorf("%q: %v", value, err)
			}
			if inContract != "" {
				t.Errorf("%q matches the contract and was refused: %v", value, err)
			}
			return
		}
		if key != inContract {
			t.Errorf("%q is parsed as %q; the contract says %q", value, key, inContract)
		}
		for _, spelled := range []string{key, `"` + key + `"`} {
			if again, err := idempotency.ParseKey([]string{spelled}); err != nil || again != key {
				t.Errorf("%q is the key %q, but %q is the key %q: %v", value, key, spelled, again, err)
			}
		}
	})
}
