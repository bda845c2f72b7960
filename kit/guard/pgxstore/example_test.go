package pgxstore_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/pgxstore"
)

// The handler writes to the transaction that claims the key and stores the response.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	store := pgxstore.New(pool)
	if err := store.Check(ctx); err != nil {
		log.Fatal(err) // says what is missing: pgxstore.Schema returns it
	}
	go store.KeepClean(ctx, time.Hour)
	once := httpguard.New(httpguard.Config{Store: store, Scope: principal})
	http.Handle("POST /transfers", once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tx, key := pgxstore.Tx(r.Context()), guard.KeyOf(r.Context())
		if _, err := tx.Exec(r.Context(), "INSERT INTO transfer (key) VALUES ($1)", key); err != nil {
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

func ExampleSchema() {
	fmt.Print(pgxstore.Schema("billing.idempotency_record"))
	// Output:
	// -- The responses of guarded requests. The transaction of a command writes its record,
	// -- complete: there is no state "in progress" that a crash could leave behind.
	// CREATE TABLE IF NOT EXISTS billing.idempotency_record (
	// 	scope          text        NOT NULL,
	// 	key            text        NOT NULL,
	// 	operation      text        NOT NULL,
	// 	fingerprint    bytea       NOT NULL,
	// 	status         integer     NOT NULL,
	// 	content_type   text        NOT NULL,
	// 	location       text        NOT NULL,
	// 	body           bytea       NOT NULL, -- bytes, not jsonb: a replay is the same to the byte
	// 	created_at     timestamptz NOT NULL,
	// 	replayed_until timestamptz NOT NULL, -- then the key is spent, until the record expires
	// 	expires_at     timestamptz NOT NULL,
	// 	PRIMARY KEY (scope, key)
	// );
	// CREATE INDEX IF NOT EXISTS idempotency_record_expiry ON billing.idempotency_record (expires_at);
}
