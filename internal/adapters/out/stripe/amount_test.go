package stripe

import (
	"testing"

	"example.com/orders/internal/core"
)

func TestMinorUnits_UsesStripesSmallestUnit(t *testing.T) {
	t.Parallel()
	const inexpressible = 0
	tests := []struct {
		amount, currency string
		want             int64
	}{
		{"19.99", "USD", 1999},
		{"1999", "RUB", 199900},
		{"0.01", "EUR", 1},
		{"999999999999999.99", "USD", 99999999999999999},
		{"500", "JPY", 500},
		{"5", "ISK", 500},
		{"5", "UGX", 500},
		{"5.00", "MGA", 5},
		{"5.50", "MGA", inexpressible},
		{"5.120", "KWD", 5120},
		{"5.124", "KWD", inexpressible},
		{"999999999999999.9999", "CLF", inexpressible},
	}
	for _, test := range tests {
		m, err := core.ParseMoney(test.amount, test.currency)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := minorUnits(m)
		if ok != (test.want != inexpressible) || ok && got != test.want {
			t.Errorf("minorUnits(%s) = %d, %t; want %d", m, got, ok, test.want)
		}
		if !ok {
			continue
		}
		if back, err := moneyOf(got, test.currency); err != nil || !back.Equal(m) {
			t.Errorf("moneyOf(%d, %s) = %s, err = %v; want %s", got, test.currency, back, err, m)
		}
	}
}

func TestTemplateOf_HasNoIDs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/payment_intents": "/v1/payment_intents", "/v1/payment_intents/search": "/v1/payment_intents/search",
		"/v1/payment_intents/pi_3Kx/cancel": "/v1/payment_intents/{id}/cancel", "/v1/refunds/re_1": "/v1/refunds/{id}", "/v1/secret": "/v1/{id}",
	} {
		if got := templateOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
