package faults

import (
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
	URL string

	hook atomic.Pointer[Hook]
}

// Hook handles a call of the service instead of the double.
type Hook func(w http.ResponseWriter, r *http.Request, double http.Handler)

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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hook := p.hook.Load(); hook != nil {
			(*hook)(w, r, api)
			return
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.URL = server.URL
	natstest.Run(t, double.SendWebhooks)
	return p
}

// SetHook lets a hook handle all further calls; nil lets the double handle them again.
func (p *Provider) SetHook(h Hook) {
	if h == nil {
		p.hook.Store(nil)
		return
	}
	p.hook.Store(&h)
}
