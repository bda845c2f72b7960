package core

import (
	"errors"
	"fmt"

	"github.com/govalues/decimal"
)

// maxIntegerDigits is the integer precision of numeric(19,4).
const maxIntegerDigits = 15

// ErrCurrencyMismatch reports arithmetic across currencies. Use cases compare
// currencies first, so it indicates a defect.
var ErrCurrencyMismatch = errors.New("amounts of different currencies")

// Currency is an active ISO 4217 alphabetic code.
type Currency string

// Money is a non-negative amount in one currency, with exactly that currency's
// decimals. Arithmetic is exact: no floating point is involved.
type Money struct {
	amount   decimal.Decimal
	currency Currency
}

// ParseMoney parses an amount such as "1999.00" and a currency such as "RUB". It
// refuses signs, exponents, leading zeros, excess decimals for the currency, more than
// 15 integer digits, and currencies not listed by ISO 4217. The error is a [Fault] with
// pointers relative to the money object.
func ParseMoney(amount, code string) (Money, error) {
	currency, ok := ParseCurrency(code)
	if !ok {
		return Money{}, InvalidField("/currency", "must be an ISO 4217 currency code, such as RUB")
	}
	value, err := decimal.Parse(amount)
	if !plainDecimal(amount) || err != nil || value.Scale() > currency.Decimals() {
		return Money{}, InvalidField("/amount", currency.amountRule())
	}
	return Money{amount: value.Pad(currency.Decimals()), currency: currency}, nil
}

// amountRule returns what an amount in the currency must be.
func (c Currency) amountRule() string {
	decimals := "without decimals"
	if n := c.Decimals(); n > 0 {
		decimals = fmt.Sprintf("a point, and at most %d decimals", n)
	}
	return fmt.Sprintf("must be at most %d digits, %s for %s", maxIntegerDigits, decimals, c)
}

// plainDecimal reports whether s is digits with at most one point between them and no
// superfluous leading zero.
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
	if digits == 0 || integer > maxIntegerDigits {
		return false
	}
	return s[0] != '0' || integer == 1
}

// MoneyOf converts a stored amount, ignoring trailing zeros. It refuses amounts that
// [ParseMoney] does not accept.
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

// Zero returns a zero amount.
func Zero(c Currency) Money {
	return Money{amount: decimal.Zero.Pad(c.Decimals()), currency: c}
}

// Amount returns the amount, padded to the currency decimals.
func (m Money) Amount() decimal.Decimal { return m.amount }

// Currency returns the currency.
func (m Money) Currency() Currency { return m.currency }

// Decimal returns the amount as a string with all decimals of the currency.
func (m Money) Decimal() string { return m.amount.String() }

// String returns amount and currency, "1999.00 RUB".
func (m Money) String() string { return m.amount.String() + " " + string(m.currency) }

// IsZero reports whether the amount is zero.
func (m Money) IsZero() bool { return m.amount.IsZero() }

// Equal reports whether amount and currency are the same.
func (m Money) Equal(n Money) bool { return m.currency == n.currency && m.amount.Cmp(n.amount) == 0 }

// Less reports whether m is less than n. Both must have the same currency.
func (m Money) Less(n Money) bool { return m.amount.Less(n.amount) }

// Add returns m + n. It fails if the currencies differ or the sum exceeds 15 integer
// digits.
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

// Sub returns m - n. It fails if the currencies differ or the difference is negative.
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

// Times returns n times m. It fails if the product exceeds 15 integer digits.
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

// with returns amount in the currency of m, after a bounds check.
func (m Money) with(amount decimal.Decimal) (Money, error) {
	if amount.IsNeg() {
		return Money{}, errors.New("amount below zero")
	}
	if amount.Prec()-amount.Scale() > maxIntegerDigits {
		return Money{}, errors.New("amount above 15 integer digits")
	}
	return Money{amount: amount, currency: m.currency}, nil
}

// ParseCurrency converts an upper-case code and reports whether ISO 4217 lists it as
// active.
func ParseCurrency(code string) (Currency, bool) {
	_, other := unusualDecimals[Currency(code)]
	_, usual := twoDecimals[Currency(code)]
	return Currency(code), other || usual
}

// Decimals returns the ISO 4217 exponent: 2 for RUB, 0 for JPY, 3 for KWD.
func (c Currency) Decimals() int {
	if n, ok := unusualDecimals[c]; ok {
		return n
	}
	return 2
}

// unusualDecimals holds the currencies with a minor unit other than a hundredth.
var unusualDecimals = map[Currency]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0,
	"PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

var twoDecimals = currencySet(
	"AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD",
	"CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP",
	"GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK",
	"LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO",
	"NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS",
	"SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST",
	"XAD XCD XCG YER ZAR ZMW ZWG",
)

func currencySet(lines ...string) map[Currency]struct{} {
	const width = len("RUB ")
	set := map[Currency]struct{}{}
	for _, line := range lines {
		for i := 0; i < len(line); i += width {
			set[Currency(line[i:i+width-1])] = struct{}{}
		}
	}
	return set
}
