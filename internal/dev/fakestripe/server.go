// Package psp is a double of a payment provider, for tests and `orders dev`. It moves no money and must never stand in
// for a provider in production: whoever reaches it can charge.
//
// It speaks the part of Stripe's interface that the adapter uses, and behaves like Stripe where that matters: it does
// once what an idempotency key asks for and repeats its first answer (a 500 too), refuses a key with other parameters,
// answers 409 while the first call runs, and sends signed webhooks until they are taken. What Stripe's sandbox cannot
// do on command, a payment method does here: see [Tokens].
//
// All it knows is in PostgreSQL, in a schema of its own, so it forgets nothing when its process is killed.
package fakestripe

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// defaultLate is how long what is late stays undecided, unless configured otherwise.
	defaultLate = 2 * time.Second
	// schemaLock keeps two servers from creating the schema at once.
	schemaLock = 7_326_107_212
)

//go:embed schema.sql
var schema string

// Config says how the double behaves.
type Config struct {
	// DatabaseURL names a database; its schema psp_double is created.
	DatabaseURL string
	// Key is the secret API key that callers have to know. Empty lets everybody in.
	Key string
	// WebhookSecret signs webhooks.
	WebhookSecret string
	// WebhookURL is where webhooks go; see [Server.SendTo].
	WebhookURL string
	// WebhookDelay is waited before an event is sent for the first time.
	WebhookDelay time.Duration
	// Late is how long payments and refunds that are late stay undecided. It defaults to two seconds.
	Late time.Duration
	// Failures is how many tries fail with tokens that fail first. It defaults to one.
	Failures int
	// SearchLag is how long a new payment is invisible to the search, which Stripe says may be a minute.
	SearchLag time.Duration
}

// Server is the double. It is safe for concurrent use; one process at a time may use a database.
type Server struct {
	cfg     Config
	pool    *pgxpool.Pool
	running sync.Map // keys of the calls that run now
	target  atomic.Pointer[string]
	sending sync.Mutex
}

// Open connects to the database and creates what is missing there.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Late = cmp.Or(cfg.Late, defaultLate)
	cfg.Failures = cmp.Or(cfg.Failures, 1)
	pool, err := pgxpool.New(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("open the payment provider's double: %w", err)
	}
	if err := createSchema(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the payment provider's double: %w", err)
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

// Close lets the database go. Nothing may be running any more.
func (s *Server) Close() { s.pool.Close() }

// Handler answers the calls of the interface.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/payment_intents", s.write(s.createIntent))
	mux.HandleFunc("POST /v1/payment_intents/{id}/cancel", s.write(s.cancelIntent))
	mux.HandleFunc("GET /v1/payment_intents", s.read(s.listIntents))
	mux.HandleFunc("GET /v1/payment_intents/search", s.read(s.searchIntents))
	mux.HandleFunc("GET /v1/payment_intents/{id}", s.read(s.getIntent))
	mux.HandleFunc("POST /v1/refunds", s.write(s.createRefund))
	mux.HandleFunc("GET /v1/refunds", s.read(s.listRefunds))
	return s.authenticated(mux)
}

func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.cfg.Key {
			reply(w, answer{}, &failure{status: http.StatusUnauthorized, Type: "invalid_request_error", Message: "Invalid API Key provided"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Serve answers on listener, which has to be a loopback one, and sends webhooks, until ctx ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if addr, ok := listener.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return fmt.Errorf("serve the payment provider's double on %v: only loopback is allowed", listener.Addr())
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // callers have to live with half an answer anyway
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
	return fmt.Errorf("serve the payment provider's double: %w", err)
}
