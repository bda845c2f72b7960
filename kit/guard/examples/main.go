// Command examples guards a route as users of each framework would write it. The argument
// names a framework, or sqlc or gorm: ServeMux with code of sqlc, and echo with GORM on
// database/sql.
//
//	export DATABASE_URL=postgres://…
//	go run . migrate
//	go run . chi
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"example.com/orders/kit/guard/pgxstore"
	"example.com/orders/kit/guard/sqlstore"
)

// servers serve POST /accounts/{account}/transfers.
var servers = map[string]func(*pgxpool.Pool) http.Handler{
	"mux":     onPool(serveMux, onPgx),
	"chi":     onPool(onChi, onPgx),
	"gorilla": onPool(onGorilla, onPgx),
	"echo":    onPool(onEcho, onPgx),
	"gin":     onPool(onGin, onPgx),
	"sqlc":    onPool(serveMux, onSQLC),
	"gorm":    echoWithGORM,
}

func onPool(build framework, b bank) func(*pgxpool.Pool) http.Handler {
	return func(pool *pgxpool.Pool) http.Handler { return build(b, newGuard(pgxstore.New(pool))) }
}

func echoWithGORM(pool *pgxpool.Pool) http.Handler {
	db := stdlib.OpenDBFromPool(pool)
	orm, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		panic(err) // it opens no connection
	}
	return onEcho(onGORM(orm), newGuard(sqlstore.New(db)))
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string) error {
	if len(args) != 1 || args[0] != "migrate" && servers[args[0]] == nil {
		return errors.New("name one of migrate, mux, chi, gorilla, echo, gin, sqlc, gorm")
	}
	pool, err := pgxpool.New(ctx, getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	if args[0] == "migrate" {
		_, err := pool.Exec(ctx, schema)
		return err
	}
	server := &http.Server{
		Addr: cmp.Or(getenv("ADDR"), "127.0.0.1:8082"), Handler: servers[args[0]](pool), ReadHeaderTimeout: 5 * time.Second,
	}
	return server.ListenAndServe()
}
