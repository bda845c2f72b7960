package core_test

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

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
		{"1999.00", "RUB", "1999.00 RUB"},
		{"1999", "RUB", "1999.00 RUB"},
		{"1999.5", "RUB", "1999.50 RUB"},
		{"0", "RUB", "0.00 RUB"},
		{"0.00", "RUB", "0.00 RUB"},
		{"0.01", "RUB", "0.01 RUB"},
		{"100", "JPY", "100 JPY"},
		{"0.001", "KWD", "0.001 KWD"},
		{"1.2345", "CLF", "1.2345 CLF"},
		{"999999999999999.99", "RUB", "999999999999999.99 RUB"},
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

func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	sum := core.Zero("RUB")
	cent := money(t, "0.01", "RUB")
	for range 10_000 {
		var err error
		if sum, err = sum.Add(cent); err != nil {
			t.Fatal(err)
		}
	}
	if sum.String() != "100.00 RUB" {
		t.Errorf("10000 times 0.01 is %s", sum)
	}
	most := money(t, "999999999999999.99", "RUB")
	if difference, err := most.Sub(cent); err != nil || difference.String() != "999999999999999.98 RUB" {
		t.Errorf("got %v, %v", difference, err)
	}
	if product, err := money(t, "99999999999.99", "RUB").Times(10_000); err != nil || product.String() != "999999999999900.00 RUB" {
		t.Errorf("got %v, %v", product, err)
	}
}

func TestMoneyStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	most, cent := money(t, "999999999999999.99", "RUB"), money(t, "0.01", "RUB")
	if sum, err := most.Add(cent); err == nil {
		t.Errorf("the sum is %s", sum)
	}
	if product, err := most.Times(2); err == nil {
		t.Errorf("the product is %s", product)
	}
	if product, err := most.Times(1 << 62); err == nil {
		t.Errorf("the product is %s", product)
	}
	if difference, err := cent.Sub(most); err == nil {
		t.Errorf("the difference is %s", difference)
	}
	if product, err := cent.Times(-1); err == nil {
		t.Errorf("the product is %s", product)
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

// someCurrency draws a currency of each number of decimals.
var someCurrency = rapid.SampledFrom([]core.Currency{"JPY", "RUB", "KWD", "CLF"})

// someMoney draws an amount of at most digits digits.
func someMoney(t *rapid.T, c core.Currency, digits int, label string) core.Money {
	units := rapid.Int64Range(0, pow10(digits)-1).Draw(t, label)
	return money(t, decimal.MustNew(units, c.Decimals()).String(), c)
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// units is an amount in minor units, by arithmetic that is not ours.
func units(m core.Money) *big.Int {
	n, ok := new(big.Int).SetString(strings.ReplaceAll(m.Decimal(), ".", ""), 10)
	if !ok {
		panic(m.Decimal())
	}
	return n
}

func TestMoneyComesBackFromItsPrint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := someMoney(t, someCurrency.Draw(t, "currency"), 15, "units")
		parsed, err := core.ParseMoney(m.Decimal(), string(m.Currency()))
		if err != nil || !parsed.Equal(m) || parsed.String() != m.String() {
			t.Fatalf("%s came back as %s, %v", m, parsed, err)
		}
		kept, err := core.MoneyOf(m.Amount().Pad(4), string(m.Currency())) // as numeric(19,4) does
		if err != nil || kept.String() != m.String() {
			t.Fatalf("%s was kept as %s, %v", m, kept, err)
		}
	})
}

func TestAddAndSubAreInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := someCurrency.Draw(t, "currency")
		a, b := someMoney(t, c, 14, "a"), someMoney(t, c, 14, "b")
		sum, err := a.Add(b)
		if err != nil {
			t.Fatal(err)
		}
		if want := new(big.Int).Add(units(a), units(b)); units(sum).Cmp(want) != 0 {
			t.Fatalf("%s + %s = %s", a, b, sum)
		}
		back, err := sum.Sub(b)
		if err != nil || back.String() != a.String() {
			t.Fatalf("%s + %s - %s = %s, %v", a, b, b, back, err)
		}
		if other, _ := b.Add(a); !other.Equal(sum) {
			t.Fatalf("%s + %s = %s, and turned round %s", a, b, sum, other)
		}
		if _, err := a.Sub(b); (err != nil) != a.Less(b) {
			t.Fatalf("%s - %s: %v", a, b, err)
		}
	})
}

func TestTimesIsRepeatedAdd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := someMoney(t, someCurrency.Draw(t, "currency"), 12, "m")
		n := rapid.IntRange(0, 50).Draw(t, "n")
		product, err := m.Times(n)
		if err != nil {
			t.Fatal(err)
		}
		sum := core.Zero(m.Currency())
		for range n {
			if sum, err = sum.Add(m); err != nil {
				t.Fatal(err)
			}
		}
		if product.String() != sum.String() {
			t.Fatalf("%d times %s is %s; added up %s", n, m, product, sum)
		}
	})
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
