// Package lossy is an HTTP proxy that loses requests and responses, and answers for the
// service, for testing clients that retry.
package lossy

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// Fault is the treatment of one request by the proxy.
type Fault string

// Half the requests pass. The rest suffer each fault equally often.
const (
	// Pass forwards the request and the response.
	Pass Fault = "pass"
	// DropRequest closes the connection. The service never sees the request.
	DropRequest Fault = "drop request"
	// DropResponse closes the connection after the service has answered.
	DropResponse Fault = "drop response"
	// CutBody closes the connection in the middle of the response body.
	CutBody Fault = "cut body"
	// Delay holds the response back until the client gives up. A client that has no time-out
	// waits until the test ends.
	Delay Fault = "delay"
	// BadGateway answers 502 with HTML, and the service never sees the request.
	BadGateway Fault = "bad gateway"

	// Portal answers 200 with HTML, like a captive portal, and the service never sees the
	// request.
	Portal Fault = "answer as a portal"
	// Redirect sends the client elsewhere, and the service never sees the request.
	Redirect Fault = "redirect"
	// Queue answers 202 after the service has answered.
	Queue Fault = "answer as a queue"
	// Mix answers with the success of a different key after the service has answered.
	Mix Fault = "mix up responses"
	// Refuse answers with a refusal that asks for a new key after the service has answered.
	Refuse Fault = "refuse"
)

// Losses are the faults that leave a client unanswered. Foreign are those that give
// it one that is not the service's. Faults holds each fault once.
var (
	Losses  = []Fault{DropRequest, DropResponse, CutBody, Delay, BadGateway}
	Foreign = []Fault{Portal, Redirect, Queue, Mix, Refuse}
	Faults  = slices.Concat(Losses, Foreign)
)

// foreign are the responses to the faults that answer for the service.
var foreign = map[Fault]struct {
	status int
	header map[string]string
	body   string
}{
	BadGateway: {http.StatusBadGateway, map[string]string{"Content-Type": "text/html"}, "<html><h1>502 Bad Gateway</h1></html>"},
	Portal:     {http.StatusOK, map[string]string{"Content-Type": "text/html"}, "<html><h1>Log in</h1></html>"},
	Redirect:   {http.StatusTemporaryRedirect, map[string]string{"Location": "/portal"}, ""},
	Queue:      {http.StatusAccepted, map[string]string{"Content-Type": "application/json"}, "{}"},
	Mix: {http.StatusCreated, map[string]string{"Content-Type": "application/json", "Idempotency-Key": "another"},
		`{"id": 1, "status": "pending_payment"}`},
	Refuse: {http.StatusConflict, map[string]string{"Content-Type": "application/problem+json"},
		`{"status": 409, "code": "out_of_stock", "title": "", "detail": "", "retryable": false, "next_key": "new", "request_id": "r-1"}`},
}

// Proxy forwards requests to a service and loses some. It changes no header, so that
// browsers can also use it. Preflight requests always pass.
type Proxy struct {
	URL string
	// First holds the faults of the first requests. The seed decides about later ones, among
	// Faults.
	First, Faults []Fault

	forwarder http.Handler
	closing   chan struct{}

	mu     sync.Mutex
	random *rand.Rand
	counts map[Fault]int
}

// New starts a proxy to the service at target. It runs until the test ends. The seed
// decides which request suffers which fault, in order of arrival.
func New(t testing.TB, target string, seed uint64) *Proxy {
	t.Helper()
	service, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		forwarder: &httputil.ReverseProxy{
			Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(service) },
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { answerAs(BadGateway, w) },
		},
		Faults:  Faults,
		closing: make(chan struct{}),
		random:  rand.New(rand.NewPCG(seed, 0)),
		counts:  map[Fault]int{},
	}
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		close(p.closing)
		server.Close()
	})
	t.Logf("lossy proxy: seed %d", seed)
	p.URL = server.URL
	return p
}

// RequireFaults fails the test unless each fault happened.
func (p *Proxy) RequireFaults(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Logf("lossy proxy: %v", p.counts)
	for _, fault := range p.Faults {
		if p.counts[fault] == 0 {
			t.Errorf("the proxy did not %s: %v", fault, p.counts)
		}
	}
}

// ServeHTTP forwards one request, or loses it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault := Pass
	if r.Method != http.MethodOptions {
		fault = p.draw()
	}
	switch fault {
	case DropRequest:
		closeConnection()
	case BadGateway, Portal, Redirect:
		answerAs(fault, w)
	default:
		p.answer(w, r, fault)
	}
}

func (p *Proxy) draw() Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	fault := Pass
	if len(p.First) > 0 {
		fault, p.First = p.First[0], p.First[1:]
	} else if p.random.IntN(2) == 0 {
		fault = p.Faults[p.random.IntN(len(p.Faults))]
	}
	p.counts[fault]++
	return fault
}

// answer lets the service answer, even if the client has gone.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, fault Fault) {
	response := httptest.NewRecorder()
	p.forwarder.ServeHTTP(response, r.WithContext(context.WithoutCancel(r.Context())))
	body := response.Body.Bytes()

	switch fault {
	case DropResponse:
		closeConnection()
	case Queue, Mix, Refuse:
		answerAs(fault, w)
	case Delay:
		select {
		case <-r.Context().Done():
		case <-p.closing:
		}
		closeConnection()
	default:
		maps.Copy(w.Header(), response.Header())
		if len(body) > 0 {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(response.Code)
		if fault == CutBody {
			_, _ = w.Write(body[:len(body)/2]) // the client may be gone
			_ = http.NewResponseController(w).Flush()
			closeConnection()
		}
		_, _ = w.Write(body)
	}
}

// closeConnection ends a handler before a response, or in the middle of one.
func closeConnection() { panic(http.ErrAbortHandler) }

// answerAs answers for the service.
func answerAs(fault Fault, w http.ResponseWriter) {
	response := foreign[fault]
	for name, value := range response.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(response.status)
	_, _ = w.Write([]byte(response.body)) // the client may be gone
}
