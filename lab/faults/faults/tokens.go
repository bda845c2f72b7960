package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// tokenFaults break the token issuer.
var tokenFaults = []Fault{
	{
		Name: "bad-issuer", Number: "F12",
		Strike: strikeIssuer,
		Proof:  []string{"bad answers of the issuer", "tokens refused meanwhile", "new keys found", "withdrawn keys refused"},
	},
}

// badKeys are bad issuer responses.
var badKeys = []http.HandlerFunc{
	func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, // until the service gives up
	func(w http.ResponseWriter, _ *http.Request) { writeText(w, strings.Repeat(" ", 2<<20)+`{"keys": []}`) },
	func(w http.ResponseWriter, _ *http.Request) { writeText(w, `{"keys": [{"kty": "EC", "kid": 7`) },
	func(w http.ResponseWriter, _ *http.Request) { writeText(w, `{"keys": []}`) },
	func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
}

func writeText(w http.ResponseWriter, text string) { _, _ = w.Write([]byte(text)) } // the caller may be gone

// strikeIssuer rotates the keys while the issuer answers badly. The clients continue
// with their tokens. New tokens are refused and take no effect until the issuer
// publishes their key. A key that is then withdrawn is refused.
func strikeIssuer(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	second, third := newIssuer(t), newIssuer(t)
	l.Keys.SetHook(badKeys[random.IntN(len(badKeys))])
	before := l.Keys.Calls.Load()
	for _, r := range l.Replicas {
		call := creditWith(t, l, second)
		e2e.Eventually(t, "a replica asks the issuer for a key", func() bool {
			wantRefused(t, l, r, call)
			return l.Keys.Calls.Load() > before
		})
		before = l.Keys.Calls.Load()
		l.Counters.Add("bad answers of the issuer", 1)
	}
	l.AwaitAttempts(t, clients.Pause)

	l.Keys.SetHook(publish(l, second))
	for _, r := range l.Replicas {
		awaitAccepted(t, l, r, creditWith(t, l, second))
		l.Counters.Add("new keys found", 1)
	}
	l.Keys.SetHook(publish(l, third))
	for _, r := range l.Replicas {
		awaitAccepted(t, l, r, creditWith(t, l, third)) // makes the replica ask again
		wantRefused(t, l, r, creditWith(t, l, second))
		l.Counters.Add("withdrawn keys refused", 1)
	}
	l.Keys.SetHook(nil)
}

// newIssuer returns an issuer with the same name and another key.
func newIssuer(t testing.TB) *devissuer.Issuer {
	t.Helper()
	issuer, err := devissuer.New(devissuer.Config{Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

// publish returns a handler that publishes the environment's keys and another issuer'l.
func publish(l *clients.Load, also *devissuer.Issuer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var both struct {
			Keys []any `json:"keys"`
		}
		for _, issuer := range []*devissuer.Issuer{l.Issuer, also} {
			published := httptest.NewRecorder()
			issuer.Handler().ServeHTTP(published, r)
			var set struct{ Keys []any }
			if err := json.Unmarshal(published.Body.Bytes(), &set); err != nil {
				panic(err) // the issuer writes JSON
			}
			both.Keys = append(both.Keys, set.Keys...)
		}
		_ = json.NewEncoder(w).Encode(both) // the caller may be gone
	}
}

// creditWith returns a credit with a token from an issuer.
func creditWith(t testing.TB, l *clients.Load, issuer *devissuer.Issuer) e2e.Call {
	t.Helper()
	token, err := issuer.Token(e2e.Bank, []string{"system"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return l.CreditCall(t, l.UniqueName("bystander"), "1.00").WithToken(token)
}

// wantRefused checks that a call gets 401 and takes no effect.
func wantRefused(t testing.TB, l *clients.Load, r *world.Replica, c e2e.Call) {
	t.Helper()
	l.ServiceAt(r).WantProblem(t, http.StatusUnauthorized, "unauthenticated", c)
	customer := strings.Split(c.Path, "/")[2]
	if n := l.Count(t, `SELECT count(*) FROM ledger_entry WHERE customer_id = $1 OR idempotency_key = $2`, customer, c.Key); n != 0 {
		t.Errorf("a refused token took %d effects", n)
	}
	l.Counters.Add("tokens refused meanwhile", 1)
}

// awaitAccepted waits until a replica knows a token's key.
func awaitAccepted(t testing.TB, l *clients.Load, r *world.Replica, c e2e.Call) {
	t.Helper()
	e2e.Eventually(t, fmt.Sprintf("replica %d finds the new key", r.Number), func() bool {
		return l.ServiceAt(r).Send(t, c).Status == http.StatusCreated
	})
}
