package problem

import (
	"net/url"
	"strings"
	"testing"
)

func TestInstance_RepeatsOnlyPlainIDsOfKnownPaths(t *testing.T) {
	jwt := "eyJhbGciOiJFUzI1NiJ9." + strings.Repeat("eyJzdWIi", 8) + ".c2ln"
	for _, c := range []struct{ pattern, path, want string }{
		{"/orders", "/orders", "/orders"},
		{"/orders/{order_id}/payment/confirm", "/orders/1041/payment/confirm", "/orders/1041/payment/confirm"},
		{"/products/{sku}", "/products/tea-1.5_kg", "/products/tea-1.5_kg"},
		{"/customers/{customer_id}/balance", "/customers/sber-42/balance", "/customers/sber-42/balance"},

		{"", "/no/such/path", "/*"},
		{"", "/anna@example.com/+79161234567", "/*"},
		{"/orders/{order_id}", "/orders/abc", "/orders/*"},
		{"/orders/{order_id}", "/orders/4242424242424242", "/orders/*"},
		{"/orders/{order_id}", "/orders/1%00", "/orders/*"},
		{"/products/{sku}", "/products/a%2Fb", "/products/*"},
		{"/products/{sku}", "/products/4242-4242-4242-4242", "/products/*"},
		{"/customers/{customer_id}/balance", "/customers/anna@example.com/balance", "/customers/*/balance"},
		{"/customers/{customer_id}/balance", "/customers/anna%40example.com/balance", "/customers/*/balance"},
		{"/customers/{customer_id}/balance", "/customers/+79161234567/balance", "/customers/*/balance"},
		{"/customers/{customer_id}/balance", "/customers/" + jwt + "/balance", "/customers/*/balance"},
		{"/customers/{customer_id}/profile", "/customers/4242424242424242/profile", "/customers/*/profile"},
		{"/idempotency-keys/{key}", "/idempotency-keys/key-1", "/idempotency-keys/*"},
		{"/docs/{asset}", "/docs/nothing.js", "/docs/*"},
	} {
		u, err := url.Parse(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := Instance(c.pattern, u); got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
	}
}
