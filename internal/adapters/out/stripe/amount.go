package stripe

import (
	"fmt"
	"strings"

	"github.com/govalues/decimal"

	"example.com/orders/internal/core"
)

// stripeDecimals are the currencies whose smallest unit is not ISO 4217's in Stripe's interface. The króna and the
// Uganda shilling have lost their decimals, and Stripe still wants two zeros; the ariary is divided by five, and Stripe
// knows whole ones only.
var stripeDecimals = map[core.Currency]int{"ISK": 2, "UGX": 2, "MGA": 0}

func decimalsOf(c core.Currency) int {
	if n, ok := stripeDecimals[c]; ok {
		return n
	}
	return c.Decimals()
}

// minorUnits gives an amount in the smallest unit of its currency, as Stripe counts it: 1999 for 19.99 USD, 500 for
// 500 JPY and for 5 ISK. It tells whether there is such a number: of a currency with three decimals Stripe takes only
// multiples of ten, as card networks know two.
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
		return core.Money{}, fmt.Errorf("amount of stripe: %w", err)
	}
	return core.MoneyOf(value, code)
}
