package world

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
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

// CallerOf returns the calling replica's number.
func CallerOf(r *http.Request) int {
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

// webhookProxy forwards the provider's webhooks to any replica, some twice. It loses
// some responses, so that the provider retries later.
type webhookProxy struct {
	*System

	http   http.Client
	mu     sync.Mutex
	random *rand.Rand
}

// StartWebhookProxy starts a proxy and returns its URL.
func StartWebhookProxy(t testing.TB, s *System, random *rand.Rand) string {
	t.Helper()
	server := httptest.NewServer(&webhookProxy{System: s, http: http.Client{Timeout: s.AttemptTimeout}, random: random})
	t.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP forwards one webhook.
func (p *webhookProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the provider retries
	}
	first, twice, lost := p.draw()
	status := p.forward(r, p.Endpoints[first], body)
	if twice {
		status = p.forward(r, p.Endpoints[(first+1)%len(p.Endpoints)], body)
		p.Counters.Add("webhooks sent twice", 1)
	}
	if lost {
		status = http.StatusBadGateway
		p.Counters.Add("webhooks sent later again", 1)
	}
	w.WriteHeader(status)
}

func (p *webhookProxy) draw() (first int, twice, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.IntN(len(p.Endpoints)), p.random.IntN(5) == 0, p.random.IntN(10) == 0
}

// forward sends a webhook to a replica and returns the response status.
func (p *webhookProxy) forward(r *http.Request, to Endpoint, body []byte) int {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, to.URL+"/webhooks/stripe", bytes.NewReader(body))
	if err != nil {
		return http.StatusBadGateway
	}
	req.Header = r.Header.Clone()
	resp, err := p.http.Do(req)
	if err != nil {
		return http.StatusBadGateway
	}
	defer resp.Body.Close()
	p.Counters.Add("webhooks", 1)
	return resp.StatusCode
}
