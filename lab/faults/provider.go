package faults

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// Provider is a run's card provider. It sends webhooks until the test ends.
type Provider struct {
	*e2e.CardProvider
	// URLs has a URL for each replica, so that a hook knows the caller.
	URLs [replicas]string

	target atomic.Pointer[string]
}

// callerKey is the context key for the caller's number.
type callerKey struct{}

// callerOf returns the calling replica's number.
func callerOf(r *http.Request) int {
	number, _ := r.Context().Value(callerKey{}).(int)
	return number
}

// startProvider starts the double.
func startProvider(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{CardProvider: e2e.StartCardProvider(t, pgtest.New(t))}
	for number := range p.URLs {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, number)))
		}))
		t.Cleanup(server.Close)
		p.URLs[number] = server.URL
	}
	natstest.Run(t, p.SendWebhooks)
	return p
}

// SendTo sends webhooks to a URL from now on.
func (p *Provider) SendTo(url string) {
	p.target.Store(&url)
	p.Server.SendTo(url)
}

// HoldWebhooks lets webhooks wait until ReleaseWebhooks.
func (p *Provider) HoldWebhooks() { p.Server.SendTo("") }

// ReleaseWebhooks sends webhooks again.
func (p *Provider) ReleaseWebhooks() { p.Server.SendTo(*p.target.Load()) }
