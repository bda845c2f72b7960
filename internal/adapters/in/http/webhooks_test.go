package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/limits"
	"example.com/orders/internal/core/payment"
)

// anySignature accepts every signature header, and no webhook.
type anySignature struct{}

func (anySignature) CheckHeader(string) error { return nil }

func (anySignature) Parse([]byte, string) (payment.ProviderEvent, error) {
	return payment.ProviderEvent{}, errors.New("signed by somebody else")
}

// slowBody is a body that says when it is read, and ends when it is let go.
type slowBody struct{ reads, end chan struct{} }

func (b slowBody) Read([]byte) (int, error) {
	b.reads <- struct{}{}
	<-b.end
	return 0, io.EOF
}

// webhookSenders sends webhooks and counts their outcomes.
type webhookSenders struct {
	handler  http.Handler
	body     slowBody
	answered chan int
}

func newWebhookSenders(t *testing.T) *webhookSenders {
	t.Helper()
	handler, err := New(Config{
		Webhooks: anySignature{}, WebhookEnded: func(string) {}, Log: zerolog.Nop(), Observe: unobserved{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &webhookSenders{handler, slowBody{make(chan struct{}), make(chan struct{})}, make(chan int)}
}

// send sends a webhook from an address. It reports whether its body is read, and the answer
// if not.
func (s *webhookSenders) send(t *testing.T, from string) (reads bool, w *httptest.ResponseRecorder) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/stripe", s.body)
	r.RemoteAddr = from
	w = httptest.NewRecorder()
	refused := make(chan struct{})
	go func() {
		s.handler.ServeHTTP(w, r)
		select {
		case refused <- struct{}{}:
		case s.answered <- w.Code:
		}
	}()
	select {
	case <-s.body.reads:
		return true, w
	case <-refused:
		return false, w
	}
}

// A stranger's webhooks without a body would otherwise keep out the provider's.
func TestWebhooks_LeavePlacesForOtherAddresses(t *testing.T) {
	t.Parallel()
	s := newWebhookSenders(t)
	for i := range limits.MaxPlacesOfAddress {
		if reads, w := s.send(t, fmt.Sprintf("192.0.2.1:%d", 1000+i)); !reads {
			t.Fatalf("webhook %d of an address: %d", i+1, w.Code)
		}
	}
	if reads, w := s.send(t, "192.0.2.1:1"); reads || w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more of the address: read %t, %d %v, want 503 with Retry-After", reads, w.Code, w.Header())
	}
	for i := range limits.MaxPlaces - limits.MaxPlacesOfAddress {
		if reads, w := s.send(t, fmt.Sprintf("198.51.100.%d:1", i)); !reads {
			t.Fatalf("another address %d: %d", i+1, w.Code)
		}
	}
	if reads, w := s.send(t, "203.0.113.1:1"); reads || w.Code != http.StatusServiceUnavailable {
		t.Errorf("beyond all places: read %t, %d, want 503", reads, w.Code)
	}
	s.body.end <- struct{}{} // one of them ends
	if status := <-s.answered; status != http.StatusBadRequest {
		t.Errorf("a body that is not signed: %d, want 400", status)
	}
	if reads, w := s.send(t, "203.0.113.1:1"); !reads {
		t.Errorf("when one has ended: %d", w.Code)
	}
	close(s.body.end)
	for range limits.MaxPlaces {
		<-s.answered
	}
}

// deadlines is a response whose connection notes the deadlines for reading.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// A deadline that remained would cancel a request whose event is being applied.
func TestWebhook_HasABoundedTimeForItsBodyOnly(t *testing.T) {
	t.Parallel()
	s := newWebhookSenders(t)
	for name, c := range map[string]struct {
		body io.Reader
		want int
	}{
		"a body":              {strings.NewReader("{}"), 2},
		"one that ends":       {io.MultiReader(strings.NewReader("{"), brokenBody{}), 1},
		"one of a large size": {strings.NewReader(strings.Repeat(" ", maxWebhook+1)), 0},
	} {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		began := time.Now()
		s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/stripe", c.body))
		if len(w.set) != c.want {
			t.Fatalf("%s: %d deadlines, want %d", name, len(w.set), c.want)
		}
		if c.want > 0 && (w.set[0].Before(began) || w.set[0].After(time.Now().Add(webhookBodyTimeout))) {
			t.Errorf("%s: may take until %v, began %v", name, w.set[0], began)
		}
		if c.want > 1 && !w.set[1].IsZero() {
			t.Errorf("%s: the deadline remains", name)
		}
	}
}

// brokenBody is a body whose connection breaks.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("deadline exceeded") }
