package core

import (
	"errors"
	"fmt"

	"github.com/govalues/decimal"
)

// maxIntegerDigits is what numeric(19,4) has before the decimal point.
const maxIntegerDigits = 15

// ErrCurrencyMismatch is the error of arithmetic across currencies. Use cases
// check currencies before, so whoever sees it has found a bug.
var ErrCurrencyMismatch = errors.New("amounts of different currencies")

// Money is a non-negative amount in one currency, with exactly that currency's
// decimals. It is exact: no float is involved anywhere.
type Money struct {
	amount   decimal.Decimal
	currency Currency
}

// ParseMoney reads "1999.00" and "RUB". It refuses signs, exponents, leading
// zeros, more decimals than the currency has, more than 15 integer digits and
// currencies that ISO 4217 does not list. The error is a [Fault] whose pointers
// are relative to the money object.
func ParseMoney(amount, code string) (Money, error) {
	currency, ok := ParseCurrency(code)
	if !ok {
		return Money{}, InvalidField("/currency", "not an ISO 4217 currency code")
	}
	if !plainDecimal(amount) {
		return Money{}, InvalidField("/amount", "must be a plain decimal number such as 1999.00, with at most 15 digits before the point")
	}
	value, err := decimal.Parse(amount)
	if err != nil {
		return Money{}, InvalidField("/amount", "must be a plain decimal number such as 1999.00")
	}
	if value.Scale() > currency.Decimals() {
		return Money{}, InvalidField("/amount", fmt.Sprintf("%s has at most %d decimals", currency, currency.Decimals()))
	}
	return Money{amount: value.Pad(currency.Decimals()), currency: currency}, nil
}

// plainDecimal tells whether s is digits with at most one point between them,
// without superfluous zeros in front.
func plainDecimal(s string) bool {
	integer, point, digits := 0, false, 0
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			digits++
			if !point {
				integer++
			}
		case c == '.' && !point && integer > 0:
			point, digits = true, 0
		default:
			return false
		}
	}
	return digits > 0 && integer <= maxIntegerDigits && (s[0] != '0' || integer == 1)
}

// MoneyOf makes money of an amount that a store kept, whatever its trailing
// zeros. It refuses what ParseMoney would not have let in.
func MoneyOf(amount decimal.Decimal, code string) (Money, error) {
	currency, ok := ParseCurrency(code)
	if !ok {
		return Money{}, fmt.Errorf("unknown currency %q", code)
	}
	value := amount.Trim(currency.Decimals())
	if value.IsNeg() || value.Scale() > currency.Decimals() || value.Prec()-value.Scale() > maxIntegerDigits {
		return Money{}, fmt.Errorf("%s is not an amount of %s", amount, code)
	}
	return Money{amount: value.Pad(currency.Decimals()), currency: currency}, nil
}

// Zero is no money of a currency.
func Zero(c Currency) Money {
	return Money{amount: decimal.Zero.Pad(c.Decimals()), currency: c}
}

// Amount gives the decimal, with the currency's scale.
func (m Money) Amount() decimal.Decimal { return m.amount }

// Currency gives the currency.
func (m Money) Currency() Currency { return m.currency }

// Decimal gives the amount as a decimal string with the currency's decimals.
func (m Money) Decimal() string { return m.amount.String() }

// String gives "1999.00 RUB".
func (m Money) String() string { return m.amount.String() + " " + string(m.currency) }

// IsZero tells whether there is none.
func (m Money) IsZero() bool { return m.amount.IsZero() }

// Equal tells whether amount and currency are the same.
func (m Money) Equal(n Money) bool { return m.currency == n.currency && m.amount.Cmp(n.amount) == 0 }

// Less tells whether m is less than n; both are of one currency.
func (m Money) Less(n Money) bool { return m.amount.Less(n.amount) }

// Add gives m + n, or an error on another currency or more than 15 integer digits.
func (m Money) Add(n Money) (Money, error) {
	if m.currency != n.currency {
		return Money{}, ErrCurrencyMismatch
	}
	sum, err := m.amount.AddExact(n.amount, m.currency.Decimals())
	if err != nil {
		return Money{}, fmt.Errorf("add amounts: %w", err)
	}
	return m.with(sum)
}

// Sub gives m - n, or an error when that is negative: money here never is.
func (m Money) Sub(n Money) (Money, error) {
	if m.currency != n.currency {
		return Money{}, ErrCurrencyMismatch
	}
	difference, err := m.amount.SubExact(n.amount, m.currency.Decimals())
	if err != nil {
		return Money{}, fmt.Errorf("subtract amounts: %w", err)
	}
	return m.with(difference)
}

// Times gives n times m, or an error above 15 integer digits.
func (m Money) Times(n int) (Money, error) {
	factor, err := decimal.New(int64(n), 0)
	if err != nil {
		return Money{}, fmt.Errorf("multiply an amount: %w", err)
	}
	product, err := m.amount.MulExact(factor, m.currency.Decimals())
	if err != nil {
		return Money{}, fmt.Errorf("multiply an amount: %w", err)
	}
	return m.with(product)
}

// with keeps m's currency and checks the bounds that every amount has.
func (m Money) with(amount decimal.Decimal) (Money, error) {
	if amount.IsNeg() {
		return Money{}, errors.New("amount below zero")
	}
	if amount.Prec()-amount.Scale() > maxIntegerDigits {
		return Money{}, errors.New("amount above 15 integer digits")
	}
	return Money{amount: amount, currency: m.currency}, nil
}
