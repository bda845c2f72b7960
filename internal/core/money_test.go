package core_test

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"example.com/orders/internal/core"
)

func money(t interface{ Fatal(...any) }, amount string, currency core.Currency) core.Money {
	m, err := core.ParseMoney(amount, string(currency))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParseMoney(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ amount, currency, want string }{
		{"1999", "RUB", "1999.00 RUB"},
		{"1999.5", "RUB", "1999.50 RUB"},
		{"0", "RUB", "0.00 RUB"},
		{"100", "JPY", "100 JPY"},
		{"0.001", "KWD", "0.001 KWD"},
		{"999999999999999.9999", "CLF", "999999999999999.9999 CLF"},
	} {
		m, err := core.ParseMoney(c.amount, c.currency)
		if err != nil || m.String() != c.want {
			t.Errorf("%q %s: got %v, %v; want %s", c.amount, c.currency, m, err, c.want)
		}
	}
}

func TestParseMoneyRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ amount, currency, pointer string }{
		{"", "RUB", "/amount"}, {" 1", "RUB", "/amount"}, {"1 ", "RUB", "/amount"}, {"1\n", "RUB", "/amount"},
		{"+1", "RUB", "/amount"}, {"-1", "RUB", "/amount"}, {"-0", "RUB", "/amount"}, {"−1", "RUB", "/amount"},
		{"1e3", "RUB", "/amount"}, {"1E3", "RUB", "/amount"}, {"0x1", "RUB", "/amount"}, {"1_000", "RUB", "/amount"},
		{"1,5", "RUB", "/amount"}, {"1.", "RUB", "/amount"}, {".5", "RUB", "/amount"}, {".", "RUB", "/amount"},
		{"1.2.3", "RUB", "/amount"}, {"01", "RUB", "/amount"}, {"00", "RUB", "/amount"}, {"00.5", "RUB", "/amount"},
		{"NaN", "RUB", "/amount"}, {"Inf", "RUB", "/amount"}, {"١", "RUB", "/amount"}, {"1\x00", "RUB", "/amount"},
		{"1.001", "RUB", "/amount"}, {"1.000", "RUB", "/amount"}, {"1.0", "JPY", "/amount"}, {"1.0001", "KWD", "/amount"},
		{"1.00000", "CLF", "/amount"}, {"1." + strings.Repeat("0", 100), "RUB", "/amount"},
		{"1000000000000000", "RUB", "/amount"}, {"1000000000000000.00", "RUB", "/amount"}, {strings.Repeat("9", 100), "RUB", "/amount"},
		{"1", "", "/currency"}, {"1", "rub", "/currency"}, {"1", "RUR", "/currency"}, {"1", "RU", "/currency"},
		{"1", "RUBL", "/currency"}, {"1", " RUB", "/currency"}, {"1", "XXX", "/currency"}, {"1", "XAU", "/currency"},
		{"one", "BTC", "/currency"},
	} {
		m, err := core.ParseMoney(c.amount, c.currency)
		fault, ok := errors.AsType[*core.Fault](err)
		if !ok || fault.Code != core.CodeValidationFailed || len(fault.Fields) != 1 || fault.Fields[0].Pointer != c.pointer {
			t.Errorf("%q %q: got %v, %v; want a fault at %s", c.amount, c.currency, m, err, c.pointer)
		}
	}
}

func TestParseMoney_SaysWhatTheCurrencyAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ amount, currency, want string }{
		{"1.001", "RUB", "must be at most 15 digits, a point, and at most 2 decimals for RUB"},
		{"1e3", "KWD", "must be at most 15 digits, a point, and at most 3 decimals for KWD"},
		{"1.0", "JPY", "must be at most 15 digits, without decimals for JPY"},
		{"1", "RUR", "must be an ISO 4217 currency code, such as RUB"},
	} {
		_, err := core.ParseMoney(c.amount, c.currency)
		if fault, ok := errors.AsType[*core.Fault](err); !ok || fault.Fields[0].Detail != c.want {
			t.Errorf("%s %s: got %+v, want %s", c.amount, c.currency, err, c.want)
		}
	}
}

func TestMoneyOfWhatAStoreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ amount, currency, want string }{
		{"1999.0000", "RUB", "1999.00 RUB"}, {"1999.5", "RUB", "1999.50 RUB"}, {"7.0000", "JPY", "7 JPY"},
		{"0.0010", "KWD", "0.001 KWD"}, {"0.0001", "CLF", "0.0001 CLF"}, {"0", "RUB", "0.00 RUB"},
		{"999999999999999.9900", "RUB", "999999999999999.99 RUB"},
	} {
		if m, err := core.MoneyOf(decimal.MustParse(c.amount), c.currency); err != nil || m.String() != c.want {
			t.Errorf("%s %s: got %v, %v; want %s", c.amount, c.currency, m, err, c.want)
		}
	}
	for _, c := range []struct{ amount, currency string }{
		{"-1", "RUB"}, {"1.001", "RUB"}, {"0.5", "JPY"}, {"1", "XXX"}, {"1000000000000000", "RUB"},
	} {
		if m, err := core.MoneyOf(decimal.MustParse(c.amount), c.currency); err == nil {
			t.Errorf("%s %s became %v", c.amount, c.currency, m)
		}
	}
}

func TestMoneyOfTwoCurrenciesDoesNotMix(t *testing.T) {
	t.Parallel()
	rub, usd := money(t, "1.00", "RUB"), money(t, "1.00", "USD")
	if _, err := rub.Add(usd); !errors.Is(err, core.ErrCurrencyMismatch) {
		t.Errorf("Add: %v", err)
	}
	if _, err := rub.Sub(usd); !errors.Is(err, core.ErrCurrencyMismatch) {
		t.Errorf("Sub: %v", err)
	}
	if rub.Equal(usd) || !rub.Equal(money(t, "1", "RUB")) {
		t.Error("Equal takes no event of the currency, or too much of how the amount was written")
	}
}

// units is an amount in minor units, by arithmetic that is not ours.
func units(m core.Money) *big.Int {
	n, ok := new(big.Int).SetString(strings.ReplaceAll(m.Decimal(), ".", ""), 10)
	if !ok {
		panic(m.Decimal())
	}
	return n
}

// What ParseMoney accepts is a plain number with no more decimals than the currency
// has, prints in one way, and is worth what was written.
func FuzzParseMoney(f *testing.F) {
	for _, amount := range []string{"1999.00", "0", "0.01", "1e3", "-1", "01", "999999999999999.99", "1.", ".1", "1.000"} {
		f.Add(amount, "RUB")
	}
	f.Add("1", "JPY")
	f.Add("0.001", "KWD")
	plain := regexp.MustCompile(`^(0|[1-9][0-9]{0,14})(\.[0-9]+)?$`)
	f.Fuzz(func(t *testing.T, amount, currency string) {
		m, err := core.ParseMoney(amount, currency)
		known, ok := core.ParseCurrency(currency)
		_, decimals, _ := strings.Cut(amount, ".")
		wanted := ok && plain.MatchString(amount) && len(decimals) <= known.Decimals()
		if (err == nil) != wanted {
			t.Fatalf("%q %q: got %v, %v", amount, currency, m, err)
		}
		if err != nil {
			return
		}
		if printed := money(t, m.Decimal(), m.Currency()); printed.String() != m.String() {
			t.Errorf("%s came back as %s", m, printed)
		}
		written, _ := new(big.Rat).SetString(amount)
		if printed, _ := new(big.Rat).SetString(m.Decimal()); written.Cmp(printed) != 0 {
			t.Errorf("%s became %s", amount, m)
		}
	})
}

// What arithmetic returns is exact, not negative, and of at most 15 digits before the
// point. Everything else is an error.
func FuzzMoneyArithmetic(f *testing.F) {
	f.Add(int64(199_900), int64(1), 3, uint8(0))
	f.Add(int64(99_999_999_999_999_999), int64(1), 1, uint8(1))
	f.Add(int64(1), int64(99_999_999_999_999_999), 10_000, uint8(1))
	f.Add(int64(99_999_999_999_999_999), int64(0), 1<<62, uint8(1))
	f.Add(int64(0), int64(1), -1, uint8(2))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), math.MaxInt, uint8(3))
	f.Add(int64(1), int64(math.MinInt64), math.MinInt, uint8(1))
	f.Fuzz(func(t *testing.T, x, y int64, n int, which uint8) {
		currency := []core.Currency{"JPY", "RUB", "KWD", "CLF"}[which%4]
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(15+currency.Decimals())), nil)
		check := func(what string, want *big.Int, got core.Money, err error) {
			t.Helper()
			fits := want.Sign() >= 0 && want.Cmp(limit) < 0
			if fits != (err == nil) || fits && (units(got).Cmp(want) != 0 || got.Currency() != currency) {
				t.Errorf("%s of %d, %d and %d in %s: got %s, %v", what, x, y, n, currency, got, err)
			}
		}
		a, errA := core.MoneyOf(decimal.MustNew(x, currency.Decimals()), string(currency))
		check("the first", big.NewInt(x), a, errA)
		b, errB := core.MoneyOf(decimal.MustNew(y, currency.Decimals()), string(currency))
		check("the second", big.NewInt(y), b, errB)
		if errA != nil || errB != nil {
			return
		}
		sum, err := a.Add(b)
		check("the sum", new(big.Int).Add(big.NewInt(x), big.NewInt(y)), sum, err)
		difference, err := a.Sub(b)
		check("the difference", new(big.Int).Sub(big.NewInt(x), big.NewInt(y)), difference, err)
		product, err := a.Times(n)
		check("the product", new(big.Int).Mul(big.NewInt(x), big.NewInt(int64(n))), product, err)
	})
}
