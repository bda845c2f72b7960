package sqlstore_test

import (
	"context"
	"database/sql"
	"log"
	"net/http"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/sqlstore"
)

// The handler writes to the transaction that claims the key and stores the response. An
// ORM gets a session on it.
func Example() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	store := sqlstore.New(db, sqlstore.Table("billing.idempotency_record"))
	if err := store.Check(context.Background()); err != nil {
		log.Fatal(err)
	}
	once := httpguard.New(httpguard.Config{Store: store, Scope: principal})
	http.Handle("POST /transfers", once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := sqlstore.Tx(r.Context()).ExecContext(r.Context(), "INSERT INTO transfer (key) VALUES ($1)", guard.KeyOf(r.Context()))
		if err != nil {
			httpguard.Fail(r, err)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})))
}

func principal(r *http.Request) guard.Scope {
	user, _, _ := r.BasicAuth()
	return guard.NewScope(user)
}
