package main

import (
	"strings"
	"testing"
)

func TestParseName_TakesLastElementOfModule(t *testing.T) {
	t.Parallel()
	want := name{
		module: "example.com/shop/gift-cards", kebab: "gift-cards", snake: "gift_cards", upper: "GIFT_CARDS",
		header: "Gift-Cards", camel: "GiftCards", title: "Gift cards",
	}
	if got, err := parseName(want.module); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for module, service := range map[string]string{
		"example.com/tickets":        "tickets",
		"example.com/tickets/v2":     "tickets",
		"github.com/Acme/t2":         "t2",
		"gitlab.acme.io/a/b.c/d_e/f": "f",
	} {
		if got, err := parseName(module); err != nil || got.kebab != service || got.module != module {
			t.Errorf("%s: %+v, %v; want %s", module, got, err, service)
		}
	}
}

func TestParseName_RefusesWhatCannotNameService(t *testing.T) {
	t.Parallel()
	const noModule, noName, taken = "no module path", "names the service: it must be", "another meaning"
	for module, want := range map[string]string{
		"tickets":                                noModule,
		"localhost/tickets":                      noModule,
		"example.com":                            noModule,
		"example.com/":                           noModule,
		"example.com//tickets":                   noModule,
		"example.com/../tickets":                 noModule,
		"https://example.com/tickets":            noModule,
		"example.com/two words":                  noModule,
		"example.com/tickets\n":                  noModule,
		"example.com/Tickets":                    noName,
		"example.com/2tickets":                   noName,
		"example.com/-tickets":                   noName,
		"example.com/tickets-":                   noName,
		"example.com/my--tickets":                noName,
		"example.com/my_tickets":                 noName,
		"example.com/tickets.go":                 noName,
		"example.com/" + strings.Repeat("t", 41): noName,
		"example.com/internal":                   taken,
		"example.com/order":                      taken,
		"example.com/path":                       taken,
	} {
		if _, err := parseName(module); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: err = %v, want one that says %q", module, err, want)
		}
	}
}
