package webhooks_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
)

// ask sends the headers of a webhook, and waits for the answer before it sends the body.
// The answer is 100 Continue when the service begins to read the body. The connection stays
// open until the end of the test, or until it is closed.
func ask(t *testing.T, s *e2e.Service, signatureHeader string) (status int, header http.Header, conn net.Conn) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /webhooks/stripe HTTP/1.1\r\nHost: orders\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n%s\r\n", signatureHeader)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header, conn
}

// signedAt returns a signature header that only its time and its form can be judged by.
func signedAt(at time.Time) string {
	return "Stripe-Signature: " + fakestripe.Sign("whsec_another", nil, at) + "\r\n"
}

func TestWebhook_WithAnImpossibleSignatureIsNotRead(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, e2e.CardSettings(e2e.SilentProvider)...)
	for name, header := range map[string]string{
		"no signature":             "",
		"an empty signature":       "Stripe-Signature:\r\n",
		"another form":             "Stripe-Signature: Bearer x\r\n",
		"no time":                  "Stripe-Signature: v1=" + strings.Repeat("00", 32) + "\r\n",
		"a time that is no number": "Stripe-Signature: t=now,v1=" + strings.Repeat("00", 32) + "\r\n",
		"a short hash":             fmt.Sprintf("Stripe-Signature: t=%d,v1=00\r\n", time.Now().Unix()),
		"no hash":                  fmt.Sprintf("Stripe-Signature: t=%d\r\n", time.Now().Unix()),
		"six minutes old":          signedAt(time.Now().Add(-6 * time.Minute)),
		"six minutes ahead":        signedAt(time.Now().Add(6 * time.Minute)),
	} {
		if status, _, _ := ask(t, s, header); status != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400 before the body", name, status)
		}
	}
	if status, _, _ := ask(t, s, signedAt(time.Now())); status != http.StatusContinue {
		t.Errorf("a possible signature: %d, want 100", status)
	}
}

func TestWebhooks_AreReadInABoundedNumber(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, e2e.CardSettings(e2e.SilentProvider)...)
	const more = 100 // than any bound on a few megabytes allows
	var read []net.Conn
	var refused int
	var header http.Header
	for range more {
		status, answered, conn := ask(t, s, signedAt(time.Now()))
		if status != http.StatusContinue {
			refused, header = status, answered
			break
		}
		read = append(read, conn)
	}
	if refused == 0 {
		t.Fatalf("%d webhooks are read at the same time", more)
	}
	if refused != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("after %d webhooks: %d %v, want 503 with Retry-After", len(read), refused, header)
	}
	_ = read[0].Close()
	e2e.Eventually(t, "another webhook is read when one has ended", func() bool {
		status, _, _ := ask(t, s, signedAt(time.Now()))
		return status == http.StatusContinue
	})
}
