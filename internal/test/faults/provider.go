package faults

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// Provider is the card provider double. It has a database of its own and outlives every
// replica, as the real one does.
type Provider struct {
	*fakestripe.Server
	// URLs has a URL for each replica, so that a hook knows who calls.
	URLs [replicas]string

	hook   atomic.Pointer[Hook]
	target atomic.Pointer[string]
}

// Hook handles a call of the service instead of the double.
type Hook func(w http.ResponseWriter, r *http.Request, double http.Handler)

// callerKey is the key of the caller's number in the context of a call.
type callerKey struct{}

// callerOf returns the number of the replica that makes a call.
func callerOf(r *http.Request) int {
	number, _ := r.Context().Value(callerKey{}).(int)
	return number
}

// startProvider starts the double, and sends its webhooks, until the test ends.
func startProvider(t testing.TB) *Provider {
	t.Helper()
	double, err := fakestripe.Open(t.Context(), fakestripe.Config{
		DatabaseURL: pgtest.New(t), Key: e2e.StripeKey, WebhookSecret: e2e.WebhookSecret, Late: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(double.Close)
	p := &Provider{Server: double}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e2e.BreakHangingCalls(w, r, double.Handler())
	})
	for number := range p.URLs {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.serve(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, number)), api)
		}))
		t.Cleanup(server.Close)
		p.URLs[number] = server.URL
	}
	natstest.Run(t, double.SendWebhooks)
	return p
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request, double http.Handler) {
	if hook := p.hook.Load(); hook != nil {
		(*hook)(w, r, double)
		return
	}
	double.ServeHTTP(w, r)
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

// SetHook lets a hook handle all further calls; nil lets the double handle them again.
func (p *Provider) SetHook(h Hook) {
	if h == nil {
		p.hook.Store(nil)
		return
	}
	p.hook.Store(&h)
}
