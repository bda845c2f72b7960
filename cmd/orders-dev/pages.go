package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"example.com/orders/cmd/orders-dev/play"
	"example.com/orders/internal/core"
	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/dev/loopback"
)

// pageTokenTTL is the token lifetime on the reference page, which asks for a new token
// with each request.
const pageTokenTTL = 5 * time.Minute

//go:embed docs.js
var docsScript []byte

// withPages serves the development pages before the API: the playground, the faults, the
// receiver of webhooks, and tokens for the reference page. It redirects a browser at / to
// the reference. The service itself answers / with 404, so that a client with a wrong base
// URL notices.
func withPages(api http.Handler, playground *play.Playground, faults *faults, receiver http.Handler, issuer *devissuer.Issuer) http.Handler {
	plays, breaks, tokens := playground.Handler(), faults.Handler(), loopback.SameOrigin(serveToken(issuer))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/" && r.Method == http.MethodGet:
			http.Redirect(w, r, "/docs", http.StatusFound)
		case path == "/play", strings.HasPrefix(path, "/play/"):
			plays.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/faults/"):
			breaks.ServeHTTP(w, r)
		case path == "/receiver":
			receiver.ServeHTTP(w, r)
		case path == "/docs/token" && r.Method == http.MethodPost:
			tokens.ServeHTTP(w, r)
		case path == "/docs/orders.js" && r.Method == http.MethodGet:
			api.ServeHTTP(growing{w}, r)
			_, _ = w.Write(docsScript) // the page loads both as one
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// growing is a response that goes on after the handler, whose Content-Length is too small.
type growing struct{ http.ResponseWriter }

// WriteHeader implements [http.ResponseWriter]. The service calls it before it writes.
func (g growing) WriteHeader(status int) {
	g.Header().Del("Content-Length")
	g.ResponseWriter.WriteHeader(status)
}

// The token subject for each role on the reference page. The examples belong to them.
var subjects = map[core.Role]string{
	core.Customer: seedCustomer, core.Seller: seedSeller, core.Admin: "admin", core.System: "billing",
}

// serveToken hands the reference page a token, which it keeps in memory.
func serveToken(issuer *devissuer.Issuer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		role, known := core.ParseRole(r.URL.Query().Get("role"))
		if !known {
			http.Error(w, "role is customer, seller, admin or system", http.StatusBadRequest)
			return
		}
		signed, err := issuer.Token(subjects[role], []string{string(role)}, pageTokenTTL)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_ = json.NewEncoder(w).Encode(map[string]string{"subject": subjects[role], "token": signed})
	})
}

// newPlayground returns the playground. Scenarios start processes later.
func (s *servers) newPlayground() *play.Playground {
	return play.New(play.Config{
		OpenDatabase: s.openPlayDatabase,
		Environ:      s.serviceEnviron(),
		Token: func(subject, role string) (string, error) {
			return s.issuer.Token(subject, []string{role}, tokenTTL)
		},
		Log: s.out,
	})
}

// replica runs the service for the playground.
func replica(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: orders-dev replica NAME")
	}
	return play.RunReplica(ctx, args[0], environ, os.Stdin, out)
}
