package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// PrivateWebhooks lets a service send events to a [Receiver].
const PrivateWebhooks = "ORDERS_ALLOW_INSECURE=webhooks"

// Receiver is a webhook endpoint. It accepts what is signed, unless a hook does something
// else.
type Receiver struct {
	URL string

	t      testing.TB
	mu     sync.Mutex
	key    *standardwebhooks.Webhook
	events []Received
	hook   func(e Received, w http.ResponseWriter) (accept bool)
}

// Received is an event that a receiver has accepted.
type Received struct {
	ID, Type, Subject string
	Data              json.RawMessage
}

// StartReceiver starts a receiver that runs until the test ends.
func StartReceiver(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{t: t}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Register creates the webhook endpoint of a receiver for all events, with an actor's token.
func (r *Receiver) Register(t testing.TB, s *Service, token string, ordered bool) {
	t.Helper()
	created := Want[struct{ Secret string }](t, s, http.StatusCreated, Call{
		Method: http.MethodPost, Path: "/webhook-endpoints", Token: token,
		Body: fmt.Sprintf(`{"url": %q, "event_types": ["*"], "ordered": %t}`, r.URL, ordered),
	})
	key, err := standardwebhooks.NewWebhook(created.Secret)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key = key
}

// SetHook lets hook see each event, and decide whether it is accepted.
func (r *Receiver) SetHook(hook func(e Received, w http.ResponseWriter) (accept bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = hook
}

// ServeHTTP implements [http.Handler].
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed
	}
	r.mu.Lock()
	key, hook := r.key, r.hook
	r.mu.Unlock()
	var e Received
	if err := key.Verify(body, request.Header); err != nil {
		r.t.Errorf("%s: %v", body, err)
	}
	if err := json.Unmarshal(body, &e); err != nil || e.ID != request.Header.Get("webhook-id") {
		r.t.Errorf("the event %s has the id %s: %v", body, request.Header.Get("webhook-id"), err)
	}
	if hook != nil && !hook(e, w) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Events returns the accepted events so far, in their order, without repetitions.
func (r *Receiver) Events() []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	var once []Received
	for _, e := range r.events {
		if !slices.ContainsFunc(once, func(o Received) bool { return o.ID == e.ID }) {
			once = append(once, e)
		}
	}
	return once
}
