package receiver_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/orders/internal/dev/receiver"
)

func TestReceiver_TakesSignedEventsAndKnowsRepeats(t *testing.T) {
	t.Parallel()
	const secret, id = "whsec_c2VjcmV0LW9mLXRoZS10ZXN0cw==", "event-1"
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var got []receiver.Event
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- receiver.Serve(ctx, ln, secret, func(e receiver.Event) { got = append(got, e) }) }()
	body := []byte(`{"id": "event-1", "type": "order.created"}`)
	for _, c := range []struct {
		secret string
		want   int
	}{
		{"whsec_c2VjcmV0LW9mLWEtc3RyYW5nZXI=", http.StatusBadRequest},
		{secret, http.StatusNoContent},
		{secret, http.StatusNoContent},
	} {
		if status := send(t, "http://"+ln.Addr().String(), c.secret, id, body); status != c.want {
			t.Errorf("status %d, want %d", status, c.want)
		}
	}
	stop()

	if err := <-ended; err != nil {
		t.Error(err)
	}
	if want := []receiver.Event{{ID: id, Type: "order.created"}, {ID: id, Type: "order.created", Repeat: true}}; !slices.Equal(got, want) {
		t.Errorf("it took %+v, want %+v", got, want)
	}
}

// send sends a signed event, and returns the status.
func send(t *testing.T, url, secret, id string, body []byte) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	signature, err := key.Sign(id, now, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
