// Command dbos-go is the subject dbos-transact-golang.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/auth19/subjects/charges"
)

// input is the input of the workflow.
type input struct {
	Kind, Customer string
	Body           charges.Body
	Hooks          charges.Hooks
}

func main() {
	pool, err := pgxpool.New(context.Background(), os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	dbosContext, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: "charges", DatabaseURL: os.Getenv("DATABASE_URL"), ExecutorID: os.Getenv("REPLICA"),
	})
	if err != nil {
		log.Fatal(err)
	}
	source, err := dbos.NewDataSource(dbosContext, pool)
	if err != nil {
		log.Fatal(err)
	}
	pay := func(ctx dbos.Context, in input) (charges.Response, error) {
		return in.Hooks.Run(func() (charges.Response, error) {
			return dbos.RunAsTransaction(ctx, source, func(ctx context.Context, tx dbos.Tx) (charges.Response, error) {
				return charges.Charge(ctx, tx.QueryRow, in.Kind, in.Customer, in.Body)
			})
		})
	}
	dbos.RegisterWorkflow(dbosContext, pay)
	if err := dbos.Launch(dbosContext); err != nil {
		log.Fatal(err)
	}
	mux := charges.NewMux(pool)
	for _, path := range charges.Routes {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			in := input{Kind: path, Customer: charges.CustomerOf(r.Header.Get("Authorization")), Hooks: charges.HooksOf(r.Header.Get)}
			if err := json.NewDecoder(r.Body).Decode(&in.Body); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			handle, err := dbos.RunWorkflow(dbosContext, pay, in, dbos.WithWorkflowID(r.Header.Get("Idempotency-Key")))
			if err != nil {
				charges.Reply(w, charges.Response{}, err)
				return
			}
			resp, err := handle.GetResult()
			charges.Reply(w, resp, err)
		})
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), charges.Authenticated(mux))) //nolint:gosec // on loopback, for a test
}
