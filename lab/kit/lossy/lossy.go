// Package lossy is an HTTP proxy that loses requests and responses, for testing clients
// that retry.
package lossy

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// Fault is the proxy's treatment for one request.
type Fault string

// Half the requests pass. The others suffer each fault equally often.
const (
	// Pass forwards the request and its response.
	Pass Fault = "pass"
	// DropRequest closes the connection. The service never sees the request.
	DropRequest Fault = "drop request"
	// DropResponse closes the connection after the service has answered.
	DropResponse Fault = "drop response"
	// CutBody closes the connection in the middle of the response body.
	CutBody Fault = "cut body"
	// Delay holds the response back until the client gives up. A client without a time-out
	// waits until the test ends.
	Delay Fault = "delay"
	// BadGateway answers 502 with HTML, and the service never sees the request.
	BadGateway Fault = "bad gateway"
)

// Faults holds each fault once.
var Faults = []Fault{DropRequest, DropResponse, CutBody, Delay, BadGateway}

// Proxy forwards requests to a service and loses some. It changes no header, so that
// browsers can also use it. Preflight requests always pass.
type Proxy struct {
	URL string
	// First holds the faults of the first requests. The seed decides about later ones.
	First []Fault

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
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { badGateway(w) },
		},
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
	for _, fault := range Faults {
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
	case BadGateway:
		badGateway(w)
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
		fault = Faults[p.random.IntN(len(Faults))]
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

// closeConnection ends a handler without a response, or in the middle of one.
func closeConnection() { panic(http.ErrAbortHandler) }

// badGateway answers like a proxy: the body is not a problem document.
func badGateway(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write([]byte("<html><h1>502 Bad Gateway</h1></html>")) // the client may be gone
}
