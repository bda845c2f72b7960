// Package fakestripe is a stateful fake of Stripe for tests and `make run`. It moves no
// money and must not be used in production, because any caller can charge.
//
// It implements the part of the Stripe API that the stripe adapter uses, and behaves like
// Stripe where that matters. It executes an idempotency key once and replays the first
// response, even a 500; it rejects a key with other parameters, responds with 409 while
// the first call runs, and sends signed webhooks until they are accepted. Payment
// methods select failures that the Stripe sandbox cannot produce on demand: see [Tokens].
// Refunds in the dashboard and disputes by a bank move money that no caller asked for.
//
// The state is in a separate PostgreSQL schema, so it survives when the process is
// killed.
package fakestripe

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	defaultLate = 2 * time.Second
	// schemaLock prevents two servers from creating the schema at the same time.
	schemaLock = 7_326_107_212
)

//go:embed schema.sql
var schema string

// Config configures a [Server].
type Config struct {
	// DatabaseURL names the database in which the schema fakestripe is created.
	DatabaseURL string
	// Key is the secret API key. If it is empty, every caller is accepted.
	Key string
	// WebhookSecret signs webhooks.
	WebhookSecret string
	// WebhookURL receives the webhooks; see [Server.SendTo].
	WebhookURL string
	// Late is how long late payments and refunds stay undecided. It defaults to 2 s.
	Late time.Duration
	// SearchLag is how long the search misses a new payment. Stripe documents up to a
	// minute.
	SearchLag time.Duration
	// Settlement is the currency of the account, in small letters, which disputes take money
	// from. It defaults to that of the charge.
	Settlement string
}

// Server is the fake. It is safe for concurrent use. Only one process may use a
// database.
type Server struct {
	cfg     Config
	pool    *pgxpool.Pool
	running sync.Map // keys with a running call
	target  atomic.Pointer[string]
	sending sync.Mutex
}

// Open connects to the database and creates the schema if it is missing.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Late = cmp.Or(cfg.Late, defaultLate)
	pool, err := pgxpool.New(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("open fakestripe: %w", err)
	}
	if err := createSchema(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open fakestripe: %w", err)
	}
	s := &Server{cfg: cfg, pool: pool}
	s.SendTo(cfg.WebhookURL)
	return s, nil
}

func createSchema(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, schema)
		return err
	})
}

// live reports whether the API key is one of live mode, and so all that the server sends.
func (s *Server) live() bool { return strings.HasPrefix(s.cfg.Key, "sk_live_") }

// Close closes the connections to the database. No call may be running any more.
func (s *Server) Close() { s.pool.Close() }

// Handler serves the API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/payment_intents", s.write(s.createIntent))
	mux.HandleFunc("POST /v1/payment_intents/{id}/cancel", s.write(s.cancelIntent))
	mux.HandleFunc("GET /v1/payment_intents", s.read(s.listIntents))
	mux.HandleFunc("GET /v1/payment_intents/search", s.read(s.searchIntents))
	mux.HandleFunc("GET /v1/payment_intents/{id}", s.read(s.getIntent))
	mux.HandleFunc("POST /v1/refunds", s.write(s.createRefund))
	mux.HandleFunc("GET /v1/refunds", s.read(s.listRefunds))
	mux.HandleFunc("GET /v1/refunds/{id}", s.read(s.getRefund))
	mux.HandleFunc("GET /v1/disputes", s.read(s.listDisputes))
	return s.authenticated(mux)
}

func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.cfg.Key {
			reply(w, response{}, &failure{
				status: http.StatusUnauthorized, Type: "invalid_request_error", Message: "Invalid API Key provided",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Serve serves the API on a loopback listener and sends webhooks, until ctx ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if addr, ok := listener.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return fmt.Errorf("serve fakestripe on %v: only loopback is allowed", listener.Addr())
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // callers must cope with lost responses
	defer stop()
	sender := make(chan struct{})
	go func() {
		defer close(sender)
		s.SendWebhooks(ctx)
	}()
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		<-sender
		return nil
	}
	return fmt.Errorf("serve fakestripe: %w", err)
}
