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
func strikeIssuer(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	second, third := newIssuer(t), newIssuer(t)
	s.Keys.SetHook(badKeys[random.IntN(len(badKeys))])
	before := s.Keys.calls.Load()
	for _, r := range s.Replicas {
		call := s.creditWith(t, second)
		e2e.Eventually(t, "a replica asks the issuer for a key", func() bool {
			s.wantRefused(t, r, call)
			return s.Keys.calls.Load() > before
		})
		before = s.Keys.calls.Load()
		s.Counters.Add("bad answers of the issuer", 1)
	}
	s.awaitAttempts(t, pause)

	s.Keys.SetHook(s.publish(second))
	for _, r := range s.Replicas {
		s.awaitAccepted(t, r, s.creditWith(t, second))
		s.Counters.Add("new keys found", 1)
	}
	s.Keys.SetHook(s.publish(third))
	for _, r := range s.Replicas {
		s.awaitAccepted(t, r, s.creditWith(t, third)) // makes the replica ask again
		s.wantRefused(t, r, s.creditWith(t, second))
		s.Counters.Add("withdrawn keys refused", 1)
	}
	s.Keys.SetHook(nil)
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

// publish returns a handler that publishes the environment's keys and another issuer's.
func (s *System) publish(also *devissuer.Issuer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var both struct {
			Keys []any `json:"keys"`
		}
		for _, issuer := range []*devissuer.Issuer{s.Issuer, also} {
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
func (s *System) creditWith(t testing.TB, issuer *devissuer.Issuer) e2e.Call {
	t.Helper()
	token, err := issuer.Token(e2e.Bank, []string{"system"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return s.CreditCall(t, s.UniqueName("bystander"), "1.00").WithToken(token)
}

// wantRefused checks that a call gets 401 and takes no effect.
func (s *System) wantRefused(t testing.TB, r *Replica, c e2e.Call) {
	t.Helper()
	s.service(r).WantProblem(t, http.StatusUnauthorized, "unauthenticated", c)
	customer := strings.Split(c.Path, "/")[2]
	if n := s.Count(t, `SELECT count(*) FROM ledger_entry WHERE customer_id = $1 OR idempotency_key = $2`, customer, c.Key); n != 0 {
		t.Errorf("a refused token took %d effects", n)
	}
	s.Counters.Add("tokens refused meanwhile", 1)
}

// awaitAccepted waits until a replica knows a token's key.
func (s *System) awaitAccepted(t testing.TB, r *Replica, c e2e.Call) {
	t.Helper()
	e2e.Eventually(t, fmt.Sprintf("replica %d finds the new key", r.Number), func() bool {
		return s.service(r).Send(t, c).Status == http.StatusCreated
	})
}
