package stripe

import (
	"strings"
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

func TestAmountRefusal_KnowsWhatStripeTakes(t *testing.T) {
	t.Parallel()
	for amount, want := range map[string]string{
		"35.200 KWD": "", "35.205 KWD": "cards take multiples of 0.01 KWD", "0.005 BHD": "cards take multiples of 0.01 BHD",
		"500 JPY": "", "5 ISK": "", "5 UGX": "", "5.00 MGA": "", "5.50 MGA": "cards take multiples of 1 MGA",
		"0.05 HUF": "", "10.55 TWD": "", "0.01 USD": "",
		"999999.99 USD": "", "1000000.00 USD": "cards take no amount as large as 1000000.00 USD",
		"999999 ISK": "", "1000000 ISK": "cards take no amount as large as 1000000 ISK",
		"9999999999.99 IDR": "", "10000000000.00 IDR": "cards take no amount as large as 10000000000.00 IDR",
		"999999999999999.99 USD": "cards take no amount as large as 999999999999999.99 USD",
		"1.0000 CLF":             "cards cannot be charged in CLF",
	} {
		number, currency, _ := strings.Cut(amount, " ")
		m, err := core.ParseMoney(number, currency)
		if err != nil {
			t.Fatal(err)
		}
		if got := (*Gateway)(nil).AmountRefusal(m); got != want {
			t.Errorf("%s: %q, want %q", amount, got, want)
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
