package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/dev/loopback"
)

// fault breaks something, so that a reader can practise finding the cause with metrics
// and logs (docs/operate.md, "Practise").
type fault struct {
	begin func(ctx context.Context) error
	end   func(ctx context.Context) error
}

// faults serves PUT /faults/{name}, which begins a fault, and DELETE /faults/{name}, which
// ends it. PUT also makes one move at the card provider, each time.
type faults struct {
	mu    sync.Mutex
	known map[string]fault
	begun map[string]bool
	moves map[string]move
}

func newFaults(s *servers) *faults {
	client := &carelessClient{servers: s}
	return &faults{begun: map[string]bool{}, known: map[string]fault{
		"broker": {
			begin: func(context.Context) error { s.broker.Halt(); return nil },
			end:   s.broker.Restart,
		},
		// The fake card provider keeps the state in a database.
		"provider": {
			begin: s.onPostgres("ALTER DATABASE "+stripeDatabase+" ALLOW_CONNECTIONS false", endSessions(stripeDatabase)),
			end:   s.onPostgres(openProvider),
		},
		"database": {
			begin: s.onPostgres("ALTER DATABASE "+serviceDatabase+" SET default_transaction_read_only = on", endSessions(serviceDatabase)),
			end:   s.onPostgres(makeWritable, endSessions(serviceDatabase)),
		},
		"client":          {begin: client.start, end: client.stop},
		"provider-events": {begin: s.holdProviderEvents, end: s.loseProviderEvents},
	}, moves: s.moves()}
}

const (
	openProvider = "ALTER DATABASE " + stripeDatabase + " ALLOW_CONNECTIONS true"
	makeWritable = "ALTER DATABASE " + serviceDatabase + " RESET default_transaction_read_only"
)

// endFaultsOfKilledRun ends PostgreSQL faults that the last run left behind.
func (s *servers) endFaultsOfKilledRun(ctx context.Context) error {
	return s.onPostgres(openProvider, makeWritable)(ctx)
}

// endSessions returns the statement that applies a database setting at once, because
// new sessions have it.
func endSessions(database string) string {
	return "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + database + "' AND pid <> pg_backend_pid()"
}

// onPostgres returns a function that executes statements as superuser, in a database
// without faults.
func (s *servers) onPostgres(statements ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, s.postgres.URL("postgres"))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}
}

// Handler serves faults to this machine only. Pages from other sites can send neither
// PUT nor DELETE, because the preflight request stays unanswered.
func (f *faults) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /faults/{name}", f.serve)
	mux.HandleFunc("DELETE /faults/{name}", f.serve)
	for name, move := range f.moves {
		mux.Handle("PUT /faults/"+name, move)
	}
	return loopback.Only(mux)
}

func (f *faults) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	known, ok := f.known[name]
	if !ok {
		http.Error(w, fmt.Sprintf("PUT begins and DELETE ends %q; PUT makes the moves %q", names(f.known), names(f.moves)), http.StatusNotFound)
		return
	}
	change, begin := known.end, r.Method == http.MethodPut
	if begin {
		change = known.begin
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun[name] != begin {
		if err := change(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		f.begun[name] = begin
	}
	_, _ = fmt.Fprintf(w, "fault %s: %t\n", name, begin)
}

func names[T any](known map[string]T) []string { return slices.Sorted(maps.Keys(known)) }

// end ends all faults before the next run.
func (f *faults) end(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for name := range f.begun {
		if f.begun[name] {
			errs = append(errs, f.known[name].end(ctx))
			f.begun[name] = false
		}
	}
	return errors.Join(errs...)
}

// carelessClient uses one key for many credits. Only the first takes effect.
type carelessClient struct {
	*servers
	cancel context.CancelFunc
	ended  chan struct{}
}

func (c *carelessClient) start(context.Context) error {
	token, err := c.issuer.Token("careless-billing", []string{"system"}, tokenTTL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel, c.ended = cancel, make(chan struct{})
	go func() {
		defer close(c.ended)
		for amount := 1; ctx.Err() == nil; amount++ {
			c.credit(ctx, token, strconv.Itoa(amount))
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	return nil
}

func (c *carelessClient) stop(context.Context) error {
	c.cancel()
	<-c.ended
	return nil
}

func (c *carelessClient) credit(ctx context.Context, token, amount string) {
	body := strings.NewReader(`{"amount": {"amount": "` + amount + `.00", "currency": "RUB"}, "description": "monthly fee"}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.serviceURL()+"/customers/"+seedCustomer+"/balance/credit", body)
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "monthly-fee")
	if response, err := http.DefaultClient.Do(r); err == nil {
		_ = response.Body.Close()
	}
}
