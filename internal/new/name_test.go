package main

import (
	"strings"
	"testing"
)

func TestParseName_TakesLastElementOfModule(t *testing.T) {
	t.Parallel()
	want := name{
		module: "example.com/shop/gift-cards", kebab: "gift-cards", snake: "gift_cards", upper: "GIFT_CARDS",
		header: "Gift-Cards", camel: "GiftCards", flat: "giftcards", title: "Gift cards",
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

// A service is called what it is called here, so that the test also holds in a copy.
func renamed(t *testing.T, text string, own, to name) string {
	t.Helper()
	r, err := newRenamer(own, to)
	if err != nil {
		t.Fatal(err)
	}
	return r.renameFile("README.md", text)
}

func TestRename_RenamesServiceAndNotBusiness(t *testing.T) {
	t.Parallel()
	from, to := spell("example.com/books", "books"), spell("acme.io/gift-cards", "gift-cards")
	for text, want := range map[string]string{
		`import "example.com/books/internal/core"`:        `import "acme.io/gift-cards/internal/core"`,
		`BOOKS_ADDR, "BOOKS" and $BOOKS/books`:            `GIFT_CARDS_ADDR, "GIFT_CARDS" and $GIFT_CARDS/books`,
		`BOOKS_UNPAID_BOOKS`:                              `GIFT_CARDS_UNPAID_BOOKS`,
		"`books serve`, books-dev, cmd/books/app":         "`gift-cards serve`, gift-cards-dev, cmd/gift-cards/app",
		"data in .books/, as db.books and s.books.list":   "data in .gift-cards/, as db.books and s.books.list",
		"books_service, books_outbox_events, books_pkey":  "gift_cards_service, gift_cards_outbox_events, books_pkey",
		"postgres://u:p@db/books?sslmode=disable":         "postgres://u:p@db/gift_cards?sslmode=disable",
		"books.events.book.sold, Books-Reason":            "gift-cards.events.book.sold, Gift-Cards-Reason",
		"source: /books/6f6a9a52-2f5e and /books/1041":    "source: /gift-cards/6f6a9a52-2f5e and /books/1041",
		"## BooksDown, #booksdown and `BooksByReference`": "## GiftCardsDown, #giftcardsdown and `BooksByReference`",
		"# books\n\nA customer books two books.\n":        "# gift-cards\n\nA customer books two books.\n",
		`{"POST", "/books", "sellBooks"}, FROM books`:     `{"POST", "/books", "sellBooks"}, FROM books`,
	} {
		if got := renamed(t, text, from, to); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
		}
	}
}

func TestRename_RenamesEverythingInFilesAboutTheService(t *testing.T) {
	t.Parallel()
	from, to := spell("example.com/books", "books"), spell("acme.io/gift-cards", "gift-cards")
	const text = "name: books, user=books, postgres://books_app@db/books, books_database_up, BOOKS_ADDR, bookshop"
	const want = "name: gift-cards, user=gift-cards, postgres://gift_cards_app@db/gift_cards, gift_cards_database_up, GIFT_CARDS_ADDR, bookshop"
	r, err := newRenamer(from, to)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.renameFile("deploy/compose.yaml", text); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestRename_NewNameMayContainOldOne(t *testing.T) {
	t.Parallel()
	from, to := spell("example.com/books", "books"), spell("example.com/books-books", "books-books")
	const text, want = "example.com/books/cmd/books-dev reads BOOKS_ADDR", "example.com/books-books/cmd/books-books-dev reads BOOKS_BOOKS_ADDR"
	if got := renamed(t, text, from, to); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
