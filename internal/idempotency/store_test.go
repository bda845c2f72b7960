package idempotency_test

import (
	"testing"

	"example.com/orders/internal/idempotency"
)

func TestNewScope_DiffersForDifferentParts(t *testing.T) {
	t.Parallel()
	seen := map[idempotency.Scope][]string{}
	for _, parts := range [][]string{
		{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a b", "c"}, {"a", "b c"}, {"a b c"},
		{"a%20b"}, {"a%", "20b"}, {"", "a"}, {"a", ""},
	} {
		scope := idempotency.NewScope(parts...)
		if other, taken := seen[scope]; taken {
			t.Errorf("%q and %q are both the scope %q", parts, other, scope)
		}
		seen[scope] = parts
	}
	if got := idempotency.NewScope("https://issuer.example", "sber-42"); got != "https://issuer.example sber-42" {
		t.Errorf("the scope of an issuer and a subject is %q", got)
	}
}
