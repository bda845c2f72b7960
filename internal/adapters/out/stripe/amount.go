package stripe

import (
	"fmt"
	"strings"

	"github.com/govalues/decimal"

	"example.com/orders/internal/core"
)

// unsupportedAmount is the refusal reason for an amount that Stripe cannot express.
const unsupportedAmount = "unsupported_amount"

// stripeDecimals holds currencies whose smallest unit at Stripe differs from ISO 4217.
// The króna and the Uganda shilling have lost their decimals, but Stripe still counts
// two; the ariary has five parts, and Stripe counts only whole ones.
var stripeDecimals = map[core.Currency]int{"ISK": 2, "UGX": 2, "MGA": 0}

func decimalsOf(c core.Currency) int {
	if n, ok := stripeDecimals[c]; ok {
		return n
	}
	return c.Decimals()
}

// minorUnits returns an amount in Stripe's smallest unit: 1999 for 19.99 USD, 500 for
// 500 JPY and for 5 ISK. It reports whether Stripe can express the amount: card
// networks have two decimals, so in a three-decimal currency Stripe accepts only
// multiples of ten.
func minorUnits(m core.Money) (int64, bool) {
	scale := decimalsOf(m.Currency())
	value := m.Amount().Trim(scale).Pad(scale)
	minor := int64(value.Coef())
	return minor, value.Scale() == scale && minor >= 0 && (scale != 3 || minor%10 == 0)
}

// moneyOf is the inverse of minorUnits.
func moneyOf(minor int64, currency string) (core.Money, error) {
	code := strings.ToUpper(currency)
	value, err := decimal.New(minor, decimalsOf(core.Currency(code)))
	if err != nil {
		return core.Money{}, fmt.Errorf("amount in stripe: %w", err)
	}
	return core.MoneyOf(value, code)
}
