package stripe

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/govalues/decimal"

	"example.com/orders/internal/core"
)

// unsupportedAmount is the refusal reason for an amount that Stripe cannot express.
const unsupportedAmount = "unsupported_amount"

// amountRule says which amounts Stripe takes in a currency, in the smallest unit that
// Stripe counts.
type amountRule struct {
	decimals int
	// multiple divides each amount.
	multiple int64
	// most is the largest amount of a charge.
	most int64
}

const (
	eightDigits  = 99_999_999
	twelveDigits = 999_999_999_999
)

// special holds the currencies that Stripe treats differently than ISO 4217 suggests. The
// króna and the Uganda shilling have lost their decimals, but Stripe still counts two,
// which must be 00. The ariary has five parts, and Stripe counts only whole ones. Some
// amounts may have more than eight digits; how many is left to Stripe.
var special = map[core.Currency]amountRule{
	"ISK": {decimals: 2, multiple: 100},
	"UGX": {decimals: 2, multiple: 100},
	"MGA": {decimals: 0, multiple: 1},
	"COP": {decimals: 2, multiple: 1, most: twelveDigits},
	"HUF": {decimals: 2, multiple: 1, most: twelveDigits},
	"IDR": {decimals: 2, multiple: 1, most: twelveDigits},
	"INR": {decimals: 2, multiple: 1, most: twelveDigits},
	"JPY": {decimals: 0, multiple: 1, most: twelveDigits},
	"LBP": {decimals: 2, multiple: 1, most: twelveDigits},
}

// ruleOf returns the rule for a currency. Card networks have two decimals, so that Stripe
// wants multiples of ten where a currency has three.
func ruleOf(c core.Currency) amountRule {
	rule, isSpecial := special[c]
	if !isSpecial {
		rule = amountRule{decimals: c.Decimals(), multiple: 1}
		if rule.decimals == 3 {
			rule.multiple = 10
		}
	}
	rule.most = cmp.Or(rule.most, eightDigits)
	return rule
}

// AmountRefusal implements [cards.Gateway]. The minimum of a charge depends on the
// account, and is left to Stripe.
func (*Gateway) AmountRefusal(m core.Money) string {
	rule := ruleOf(m.Currency())
	switch minor, expressible := minorUnits(m); {
	case rule.decimals > 3:
		return fmt.Sprintf("cards cannot be charged in %s", m.Currency())
	case !expressible:
		return fmt.Sprintf("cards take multiples of %s %s", stepOf(rule), m.Currency())
	case minor > rule.most:
		return "cards take no amount as large as " + m.String()
	}
	return ""
}

// stepOf returns the smallest amount as a decimal.
func stepOf(rule amountRule) string {
	step, _ := decimal.New(rule.multiple, rule.decimals) // both are small
	return step.Trim(0).String()
}

// minorUnits returns an amount in Stripe's smallest unit: 1999 for 19.99 USD, 500 for
// 500 JPY and for 5 ISK. It reports whether Stripe can express the amount.
func minorUnits(m core.Money) (int64, bool) {
	rule := ruleOf(m.Currency())
	value := m.Amount().Trim(rule.decimals).Pad(rule.decimals)
	minor := int64(value.Coef())
	return minor, value.Scale() == rule.decimals && minor >= 0 && minor%rule.multiple == 0
}

// moneyOf is the inverse of minorUnits.
func moneyOf(minor int64, currency string) (core.Money, error) {
	code := strings.ToUpper(currency)
	value, err := decimal.New(minor, ruleOf(core.Currency(code)).decimals)
	if err != nil {
		return core.Money{}, fmt.Errorf("amount in stripe: %w", err)
	}
	return core.MoneyOf(value, code)
}
