package faults

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// webhookProxy forwards the provider's webhooks to any replica, some twice. It loses
// some responses, so that the provider retries later.
type webhookProxy struct {
	*System

	http   http.Client
	mu     sync.Mutex
	random *rand.Rand
}

// startWebhookProxy starts a proxy and returns its URL.
func startWebhookProxy(t testing.TB, s *System, seed uint64) string {
	t.Helper()
	server := httptest.NewServer(&webhookProxy{System: s, http: http.Client{Timeout: s.AttemptTimeout}, random: rand.New(rand.NewPCG(seed, 2*deliverer))})
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
