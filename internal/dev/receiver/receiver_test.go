package receiver_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/orders/internal/dev/receiver"
)

func TestReceiver_TakesSignedEventsAndKnowsRepeats(t *testing.T) {
	t.Parallel()
	const secret, stranger, id = "whsec_c2VjcmV0", "whsec_c3RyYW5nZXI=", "event-1"
	var got []receiver.Event
	handler := receiver.Handler(secret, func(e receiver.Event) { got = append(got, e) })
	for _, c := range []struct {
		secret string
		want   int
	}{
		{stranger, http.StatusBadRequest},
		{secret, http.StatusNoContent},
		{secret, http.StatusNoContent},
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, signed(t, c.secret, id, []byte(`{"id": "event-1", "type": "order.created"}`)))
		if answer.Code != c.want {
			t.Errorf("status %d, want %d", answer.Code, c.want)
		}
	}

	if want := []receiver.Event{{ID: id, Type: "order.created"}, {ID: id, Type: "order.created", Repeat: true}}; !slices.Equal(got, want) {
		t.Errorf("it took %+v, want %+v", got, want)
	}
}

// signed returns a request with an event.
func signed(t *testing.T, secret, id string, body []byte) *http.Request {
	t.Helper()
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	signature, err := key.Sign(id, now, body)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return request
}
