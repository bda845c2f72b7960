package httpapi

import (
	"context"
	"crypto/elliptic"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rs/zerolog"

	"example.com/orders/internal/idempotency"
)

// answeredStore is a store in which every key has the record of the request that claims it.
type answeredStore struct {
	idempotency.LookupStore
	response idempotency.Response
}

func (s answeredStore) Execute(
	_ context.Context, claim idempotency.Claim, _ idempotency.Command,
) (idempotency.Record, bool, error) {
	return idempotency.Record{Claim: claim, Response: s.response, ReplayedUntil: storedAt}, true, nil
}

// discarded is a response that nobody reads.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkReplay is all that the handler does to answer a retry from memory: everything
// but the work of net/http.
func BenchmarkReplay(b *testing.B) {
	clock, key := &testClock{}, newEC(b, elliptic.P256())
	tokens, _ := newTestVerifier(b, newTestIssuer(b, keyOf(b, key.Public())), clock)
	limits := NewLimits(LimitsConfig{Share: 8, InFlight: 100, Now: time.Now, OnRefusal: func(string) {}})
	b.Cleanup(limits.Close)
	handler, err := New(Config{
		Tokens: tokens, Limits: limits, Log: zerolog.New(io.Discard).With().Timestamp().Stack().Logger(),
		Keys: answeredStore{response: idempotency.Response{
			Status: http.StatusCreated, ContentType: "application/json", Body: []byte(`{"id":1}`),
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	token := "Bearer " + sign(b, clock, "main", jwt.SigningMethodES256, key)
	b.ReportAllocs()
	for b.Loop() {
		body := `{"amount": {"amount": "1.00", "currency": "RUB"}}`
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/customers/1/balance/credit", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.RemoteAddr = "192.0.2.7:51000"
		r.Header = http.Header{"Authorization": {token}, "Content-Type": {"application/json"}, "Idempotency-Key": {"9000000000000000042"}}
		w := &discarded{header: http.Header{}}
		handler.ServeHTTP(w, r)
		if w.status != http.StatusCreated || w.header.Get("Idempotent-Replayed") != "true" {
			b.Fatalf("got %d %v, want a replay", w.status, w.header)
		}
	}
}
