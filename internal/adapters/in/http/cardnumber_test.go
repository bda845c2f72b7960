package httpapi

import "testing"

// The numbers are those that card networks publish for tests.
func TestHasCardNumber_FindsNumbersAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]bool{
		"4242424242424242":                      true,
		"4242 424242424242":                     true,
		"4222222222222":                         true, // 13 digits
		"5555-5555-5555-4444":                   true,
		"3782 822463 10005":                     true,
		"30569309025904":                        true, // 14 digits
		"2200 0000 0000 0004":                   true,
		"6205500000000000004":                   true, // 19 digits
		"pay 4000 0566 5566 5556 please":        true,
		"7 4242 4242 4242 4242 2026":            true,
		"call 1234, card 4242  4242--4242 4242": true,

		"":                               false,
		"4242424242424241":               false, // check digit
		"42424242424242424242":           false, // 20 digits
		"424242424242":                   false, // 12 digits
		"1762248600000":                  false, // milliseconds since 1970
		"20261104093000":                 false, // a date and a time
		"42 4242424242 4242":             false, // unusual groups
		"4242 42 42 42 42 42 42":         false,
		"2026-11-04-000123":              false,
		"4242.4242.4242.4242":            false,
		"9999999999999995":               false, // no network issues these
		"0199c0de-7a1b-7c2d-8e3f-4a5b6c": false,
	} {
		if got := hasCardNumber(text); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}
