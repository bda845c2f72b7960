// Package httpguard guards routes of net/http with the caller's Idempotency-Key: what a
// handler writes to the database and what it answers commit together, so that a retry
// gets the first response and has no second effect.
//
//	once := httpguard.New(httpguard.Config{Store: pgxstore.New(pool), Scope: principal})
//	mux.Handle("POST /transfers", once.Middleware(http.HandlerFunc(createTransfer)))
//
//	func createTransfer(w http.ResponseWriter, r *http.Request) {
//		tx := pgxstore.Tx(r.Context()) // claim, effect and response: one COMMIT
//		…
//	}
//
// [Guard.Middleware] takes a handler as it is. [Handle] takes a function that decodes
// the request and one that executes it, so that an invalid request opens no
// transaction.
//
// # What is kept
//
// The status decides. A success (2xx) is kept with the effect. A refusal (402, 409 or
// 422) is kept, and what the handler wrote to the database is rolled back. Everything
// else is rolled back and leaves the key free: the next request with the key runs the
// handler. A handler that answers nothing has failed, and so has one that calls [Fail].
//
// Status, Content-Type, Location and body are kept, held back until the commit, and
// sent to the first request and to every retry. Other headers of a kept response are
// dropped, and the log says so once for each name: a retry would lack them. They belong
// in a handler around the guard.
//
// # What a handler must not do
//
// A handler may run more than once, after its transaction lost a race and was rolled
// back. It works on that transaction and on nothing else: no call to another service,
// no message, no second connection. It does not stream: a response is sent as a whole,
// so Flush and Hijack of [http.ResponseController] return [http.ErrNotSupported]. It
// returns no secret, because a record keeps the response in plain text.
package httpguard

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"example.com/orders/kit/guard"
)

// Config describes a guard. Store and Scope are required. The zero value of any other
// field stands for its default.
type Config struct {
	// Store keeps the records: pgxstore.New or sqlstore.New, or another store that
	// passes the suite of package guardtest.
	Store guard.Store
	// Scope returns the owner of the request's key: the principal that has been
	// authenticated, never a value that the caller chooses. Without an owner ("") the
	// answer is 401. See [guard.NewScope].
	Scope func(*http.Request) guard.Scope

	// TTL is how long a key is kept with its response, 72 hours by default. A retry after
	// that runs the handler again, which finds the key with the effect: see [guard.KeyOf].
	TTL time.Duration
	// RefusalTTL is how long a refusal is replayed, 6 hours by default. After that the key
	// is spent, because a refused caller continues under a new one.
	RefusalTTL time.Duration
	// Wait is how long a duplicate waits for the first request, 5 seconds by default. A
	// negative duration answers it at once.
	Wait time.Duration
	// Timeout bounds the work of a handler, 10 seconds by default. A client that hangs up
	// does not end it.
	Timeout time.Duration
	// MaxBody bounds a request body in bytes, 1 MiB by default.
	MaxBody int64

	// Admit reports whether a request may use a new key, for a quota: each key is a row
	// for days. Retries are not asked. The answer to others is 429. By default, all are
	// admitted.
	Admit func(*http.Request) bool
	// Error answers a problem: it writes status, headers and body, and keeps the headers
	// that are set, such as Retry-After. The default is [WriteProblem].
	Error func(http.ResponseWriter, *http.Request, Problem)
	// Done is called with the outcome of each request, for a log line or a metric. By
	// default, nothing is called.
	Done func(*http.Request, Outcome)
	// Log gets failed commands and dropped headers. The default is [slog.Default].
	Log *slog.Logger
}

// Outcome is how a request ended.
type Outcome struct {
	// Operation is the name of the operation: that of [Handle], or the route's pattern.
	Operation string
	// Code is "done" for a success and "refused" for a refusal, "replayed" for both
	// when they were replayed, and "undone" for a response that was not kept. Otherwise
	// it is the code of the problem that was answered, or "panic".
	Code string
	// Status is that of the response.
	Status int
	// Err is why there is a problem, or the error of [Fail].
	Err error
	// Took is the time from the arrival of the request.
	Took time.Duration
}

// Guard guards routes. Many goroutines may use it.
type Guard struct {
	cfg     Config
	engine  guard.Guard
	dropped sync.Map // names of headers that the log has
}

// New returns a guard. It panics if cfg has no Store or no Scope.
func New(cfg Config) *Guard {
	if cfg.Store == nil || cfg.Scope == nil {
		panic("httpguard: the configuration needs a Store and a Scope")
	}
	cfg.TTL = cmp.Or(cfg.TTL, 72*time.Hour)
	cfg.RefusalTTL = cmp.Or(cfg.RefusalTTL, 6*time.Hour)
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 1<<20)
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	if cfg.Admit == nil {
		cfg.Admit = func(*http.Request) bool { return true }
	}
	if cfg.Error == nil {
		cfg.Error = WriteProblem
	}
	if cfg.Done == nil {
		cfg.Done = func(*http.Request, Outcome) {}
	}
	return &Guard{cfg: cfg, engine: guard.Guard{
		Store: cfg.Store, Wait: cmp.Or(cfg.Wait, 5*time.Second), Timeout: cmp.Or(cfg.Timeout, 10*time.Second),
	}}
}

// Middleware returns a handler that requires a key and guards next. It guards every
// request that it gets. Put it around routes that change something: inside of
// authentication and of what sets headers, and outside of what reads the body.
//
// It works with every router that takes middleware of net/http and whose handlers can
// be called twice for one request. The operation is the pattern of the route, or method
// and path where the router sets no [http.Request.Pattern].
func (g *Guard) Middleware(next http.Handler) http.Handler {
	run := func(held *response, r *http.Request) error {
		next.ServeHTTP(held, r)
		return held.failure
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation := cmp.Or(r.Pattern, r.Method+" "+r.URL.Path)
		g.serve(w, r, operation, func(*http.Request) (command, error) { return run, nil })
	})
}
