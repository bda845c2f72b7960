package core

import (
	"regexp"
	"slices"
	"testing"
)

func TestCurrencyTablesAreSane(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile(`^[A-Z]{3}$`)
	for c, n := range unusualDecimals {
		if !code.MatchString(string(c)) || n == 2 || n < 0 || n > 4 {
			t.Errorf("%q with %d decimals", c, n) // numeric(19,4) keeps four
		}
		if _, twice := twoDecimals[c]; twice {
			t.Errorf("%s is in both tables", c)
		}
	}
	for c := range twoDecimals {
		if !code.MatchString(string(c)) {
			t.Errorf("%q is no code", c)
		}
	}
	if n := len(unusualDecimals) + len(twoDecimals); n < 150 || n > 200 {
		t.Errorf("%d currencies are in use", n) // a typo in a line would lose the rest of it
	}
}

func TestDecimalsOfCurrencies(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"RUB": 2, "USD": 2, "EUR": 2, "AED": 2, "ZWG": 2, "JPY": 0, "KRW": 0, "ISK": 0, "KWD": 3, "BHD": 3, "CLF": 4} {
		if c, ok := ParseCurrency(code); !ok || c.Decimals() != want {
			t.Errorf("%s: known = %v, %d decimals; want %d", code, ok, c.Decimals(), want)
		}
	}
	// Old ones, metals, tests, what is no currency, and what is written in another way.
	for _, code := range []string{"RUR", "DEM", "HRK", "XAU", "XDR", "XTS", "XXX", "BTC", "rub", "Rub", "", "RU", "RUB ", "AED AFN", "РУБ"} {
		if _, ok := ParseCurrency(code); ok {
			t.Errorf("%q is a currency", code)
		}
	}
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"customer", "seller", "admin", "system"} {
		if role, ok := ParseRole(name); !ok || string(role) != name {
			t.Errorf("%s is no role", name)
		}
	}
	for _, name := range []string{"", "Admin", "ADMIN", "root", " admin", "user", "admins"} {
		if _, ok := ParseRole(name); ok {
			t.Errorf("%q is a role", name)
		}
	}
}

// No list of names can show that every other one is refused, so the set itself is checked
// (AUTH-8).
func TestRoles_AreFour(t *testing.T) {
	t.Parallel()
	if want := []Role{"customer", "seller", "admin", "system"}; !slices.Equal(roles, want) {
		t.Errorf("the roles are %q, want %q: whoever adds one must revise every policy", roles, want)
	}
}
