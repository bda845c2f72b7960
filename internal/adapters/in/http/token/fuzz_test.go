package token

import (
	"encoding/base64"
	"strings"
	"testing"

	"example.com/orders/internal/adapters/in/http/strictjson"
)

// FuzzStrictToken checks that a token is strict exactly if header and claims are.
func FuzzStrictToken(f *testing.F) {
	for _, part := range []string{
		`{"alg":"ES256"}`, `{"alg":"none","alg":"ES256"}`, `{"alg":1,"\u0061lg":2}`, `{"a":{"b":[{"c":1,"c":1}]}}`,
		`{"sub":"\ud800"}`, `{"sub":"\ud83d\ude00"}`, `{"sub":"\\ud800"}`, "{\"sub\":\"\xff\"}", `{} {}`, ``, `7`, "\ufeff{}",
	} {
		f.Add([]byte(part), []byte(`{"sub":"sber-42"}`), ".c2ln")
		f.Add([]byte(`{"alg":"ES256"}`), []byte(part), "")
	}
	f.Add([]byte("{}"), []byte("{}"), "A.")
	f.Fuzz(func(t *testing.T, header, claims []byte, rest string) {
		token := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims) + rest
		if strings.ContainsAny(token, "\r\n") {
			t.Skip("no header contains line breaks")
		}
		parts := strings.Split(token, ".")
		want := len(parts) == 3 && isStrictPart(parts[0]) && isStrictPart(parts[1])
		if got := isStrictToken(token); got != want {
			t.Errorf("%s: strict = %t, want %t", token, got, want)
		}
	})
}

func isStrictPart(part string) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && base64.RawURLEncoding.EncodeToString(text) == part && strictjson.IsValid(text)
}
