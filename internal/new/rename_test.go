package main

import "testing"

// A service is called what it is called here, so that the test also holds in a copy.
func renamed(t *testing.T, text string, own, to name) string {
	t.Helper()
	return newRenamer(own, to).rename(text)
}

func TestRename_RenamesServiceAndNotBusiness(t *testing.T) {
	t.Parallel()
	from, to := spell("example.com/books", "books"), spell("acme.io/gift-cards", "gift-cards")
	for text, want := range map[string]string{
		`import "example.com/books/internal/core"`:       `import "acme.io/gift-cards/internal/core"`,
		`BOOKS_ADDR, "BOOKS" and $BOOKS/books`:           `GIFT_CARDS_ADDR, "GIFT_CARDS" and $GIFT_CARDS/books`,
		`BOOKS_UNPAID_BOOKS`:                             `GIFT_CARDS_UNPAID_BOOKS`,
		"`books serve`, books-dev, cmd/books/app":        "`gift-cards serve`, gift-cards-dev, cmd/gift-cards/app",
		"data in .books/, as db.books and s.books.list":  "data in .gift-cards/, as db.books and s.books.list",
		"books_service, books_outbox_events, books_pkey": "gift_cards_service, gift_cards_outbox_events, books_pkey",
		"postgres://u:p@db/books?sslmode=disable":        "postgres://u:p@db/gift_cards?sslmode=disable",
		"books.events.book.sold, Books-Reason":           "gift-cards.events.book.sold, Gift-Cards-Reason",
		"/books/6f6a9a52-2f5e and /books/1041":           "/gift-cards/6f6a9a52-2f5e and /books/1041",
		"# books\n\nA customer books two books.\n":       "# gift-cards\n\nA customer books two books.\n",
		`{"POST", "/books", "sellBooks"}, FROM books`:    `{"POST", "/books", "sellBooks"}, FROM books`,
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
	if got := newRenamer(from, to).renameFile("deploy/compose.yaml", text); got != want {
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
