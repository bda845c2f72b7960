// Package play is the playground in orders-dev: a page on which a person breaks things
// and sees that a payment takes effect once. Everything is real. Two replicas run as
// processes on a separate database; the proxies before them lose responses; a kill is
// SIGKILL.
//
// The page starts a scenario with POST /play/… and reads the steps as they happen: one
// JSON [Entry] per line.
package play

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"example.com/orders/internal/dev/loopback"
)

// timeout bounds one scenario.
const timeout = 45 * time.Second

// policy is the Content-Security-Policy of the page: only its two files, and no other hosts.
const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"connect-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'"

//go:embed page
var page embed.FS

// Config connects the playground to orders-dev.
type Config struct {
	// OpenDatabase creates an empty database with the service schema. It returns the
	// URLs for the owner and for the role of the replicas.
	OpenDatabase func(ctx context.Context) (owner, service string, err error)
	// Environ configures the replicas, except for the database and the ports.
	Environ []string
	// Token returns a token that the replicas accept.
	Token func(subject, role string) (string, error)
	// Log receives the replicas' logs.
	Log io.Writer
}

// Playground serves the page and runs the scenarios: one at a time, and Pay at any time.
// It starts replicas when the page is first opened.
type Playground struct {
	cfg Config

	mu      sync.Mutex
	stage   *stage
	closed  bool
	running sync.WaitGroup // with stage
}

// New returns a playground. Scenarios start processes later.
func New(cfg Config) *Playground { return &Playground{cfg: cfg} }

// Handler serves /play/ to this machine only.
func (p *Playground) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /play", serveFile("page.html", "text/html; charset=utf-8"))
	mux.HandleFunc("GET /play/page.css", serveFile("page.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /play/page.js", serveFile("page.js", "text/javascript; charset=utf-8"))
	for name, scenario := range scenarios {
		mux.Handle("POST /play/"+name, loopback.SameOrigin(p.serve(alone(scenario))))
	}
	for name, scenario := range anytime {
		mux.Handle("POST /play/"+name, loopback.SameOrigin(p.serve(scenario)))
	}
	return loopback.Only(mux)
}

func serveFile(name, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		content, err := page.ReadFile("page/" + name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", policy)
		h.Set("Content-Type", contentType)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		_, _ = w.Write(content)
	}
}

// alone runs a scenario while no other one runs, between repaired replicas.
func alone(scenario func(*play, context.Context) error) func(*play, context.Context) error {
	return func(p *play, ctx context.Context) error {
		p.scenario.Lock()
		defer p.scenario.Unlock()
		if err := p.startReplicas(ctx, func(*replica) {}); err != nil { // an earlier one may have failed
			return err
		}
		return scenario(p.of(p.account), ctx)
	}
}

// of returns the play with the current payment of an account.
func (p *play) of(a *account) *play {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &play{p.stage, a, a.current, p.report}
}

// serve runs a scenario and streams the steps. ?guard=off sends the payment to the twin.
// Closing the page does not stop it, because it has to repair the faults.
func (p *Playground) serve(scenario func(*play, context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), timeout)
		defer cancel()
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		report := reporter(w)
		if err := p.run(ctx, scenario, r.URL.Query().Get("guard") != "off", report); err != nil {
			report(Entry{Kind: "error", Text: err.Error()})
		}
	})
}

// reporter returns a function that writes entries to a page, which may be gone.
func reporter(w http.ResponseWriter) func(Entry) {
	var mu sync.Mutex // concurrent attempts end in any order
	flush := http.NewResponseController(w)
	return func(e Entry) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(e)
		_ = flush.Flush()
	}
}

// run runs a scenario and reports the resulting state.
func (p *Playground) run(ctx context.Context, scenario func(*play, context.Context) error, guarded bool, report func(Entry)) error {
	s, err := p.enter(ctx)
	if err != nil {
		return err
	}
	defer p.running.Done()
	account := s.twin
	if guarded {
		account = s.guarded
	}
	err = scenario((&play{stage: s, report: report}).of(account), ctx)
	state, stateErr := s.state(ctx, account)
	if stateErr == nil {
		report(Entry{Kind: "state", State: &state})
	}
	return errors.Join(err, stateErr)
}

// enter returns the stage, which the first caller opens. It stays open until
// running.Done.
func (p *Playground) enter(ctx context.Context) (_ *stage, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("orders-dev is stopping")
	}
	if p.stage == nil {
		if p.stage, err = openStage(ctx, p.cfg); err != nil {
			return nil, fmt.Errorf("start the playground: %w", err)
		}
	}
	p.running.Add(1)
	return p.stage, nil
}

// Close stops the replicas once the running scenarios have ended. Later ones are refused.
func (p *Playground) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.running.Wait()
	if p.stage != nil {
		p.stage.close()
		p.stage = nil
	}
	return nil
}
