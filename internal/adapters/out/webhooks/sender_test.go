package webhooks_test

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/orders/internal/adapters/out/webhooks"
	"example.com/orders/internal/core/webhook"
	testwait "example.com/orders/internal/test/wait"
)

const (
	secret   = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	previous = "whsec_" + "cHJldmlvdXMgc2VjcmV0IG9mIGEgdGVzdCAuLi4="
)

func attempt(target string) webhook.Attempt {
	return webhook.Attempt{URL: target, Secrets: []string{secret}, EventID: "0192f1a4-5c3e-7c1d-9d59-3d1f2f9a1b01", Body: `{"id":"1"}`}
}

// receive starts a TLS receiver on an address.
func receive(t *testing.T, address string, handle http.HandlerFunc, configure ...func(*httptest.Server)) *httptest.Server {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewUnstartedServer(handle)
	_ = receiver.Listener.Close()
	receiver.Listener = ln
	receiver.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, c := range configure {
		c(receiver)
	}
	receiver.StartTLS()
	t.Cleanup(receiver.Close)
	return receiver
}

func newSender(allowPrivate bool) *webhooks.Sender {
	return webhooks.New(allowPrivate, time.Now, func(string) {})
}

// senderTo returns a sender that reaches a receiver.
func senderTo(receiver *httptest.Server) *webhooks.Sender {
	sender := newSender(true)
	sender.Trust(receiver.Certificate())
	return sender
}

func TestSend_SignsWithBothSecrets(t *testing.T) {
	t.Parallel()
	sent := attempt("")
	sent.Secrets = []string{secret, previous}
	var problems []string
	receiver := receive(t, "127.0.0.1:0", func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		for _, known := range sent.Secrets {
			key, keyErr := standardwebhooks.NewWebhook(known)
			if keyErr != nil || err != nil || key.Verify(body, r.Header) != nil {
				problems = append(problems, "no signature by "+known)
			}
		}
		if string(body) != sent.Body || r.Header.Get("webhook-id") != sent.EventID || r.Method != http.MethodPost ||
			r.Header.Get("Content-Type") != "application/cloudevents+json" {
			problems = append(problems, fmt.Sprint(r.Method, r.Proto, r.Header, string(body)))
		}
		for name := range r.Header {
			if slices.Contains([]string{"Cookie", "Authorization", "Traceparent", "Referer"}, name) {
				problems = append(problems, name)
			}
		}
	})
	sent.URL = receiver.URL
	if got := senderTo(receiver).Send(t.Context(), sent); got != (webhook.Outcome{Status: 200}) || len(problems) > 0 {
		t.Errorf("the attempt ended with %+v, problems: %q", got, problems)
	}
}

func TestSend_ReportsWhatTheReceiverAnswers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		answer string
		want   webhook.Outcome
	}{
		"accepted":           {"204 No Content\r\n\r\n", webhook.Outcome{Status: 204}},
		"refused":            {"500 X\r\n\r\nbroken", webhook.Outcome{Status: 500, Start: "broken", Failure: webhook.FailedStatus}},
		"gone":               {"410 Gone\r\n\r\n", webhook.Outcome{Status: 410, Failure: webhook.FailedStatus}},
		"not modified":       {"304 X\r\n\r\n", webhook.Outcome{Status: 304, Failure: webhook.FailedStatus}},
		"no UTF-8, and NUL":  {"400 X\r\n\r\na\xffb\x00c", webhook.Outcome{Status: 400, Start: "a\uFFFDb\uFFFDc", Failure: webhook.FailedStatus}},
		"a long text":        {"400 X\r\n\r\n" + strings.Repeat("я", 900), webhook.Outcome{Status: 400, Start: strings.Repeat("я", 500), Failure: webhook.FailedStatus}},
		"wait for seconds":   {"503 X\r\nRetry-After: 120\r\n\r\n", webhook.Outcome{Status: 503, RetryAfter: 2 * time.Minute, Failure: webhook.FailedStatus}},
		"wait until a date":  {"429 X\r\nRetry-After: Thu, 26 Nov 2026 13:00:00 GMT\r\n\r\n", webhook.Outcome{Status: 429, RetryAfter: time.Hour, Failure: webhook.FailedStatus}},
		"wait until a past":  {"429 X\r\nRetry-After: Thu, 26 Nov 2020 13:00:00 GMT\r\n\r\n", webhook.Outcome{Status: 429, Failure: webhook.FailedStatus}},
		"wait for nonsense":  {"429 X\r\nRetry-After: -5\r\n\r\n", webhook.Outcome{Status: 429, Failure: webhook.FailedStatus}},
		"no HTTP":            {"", webhook.Outcome{Failure: webhook.FailedConnection}},
		"a cut body":         {"200 OK\r\nContent-Length: 9\r\n\r\nab", webhook.Outcome{Status: 200, Start: "ab", Failure: webhook.FailedConnection}},
		"too many headers":   {"200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", webhook.Outcome{Failure: webhook.FailedConnection}},
		"a compressed bomb":  {"400 X\r\nContent-Encoding: gzip\r\n\r\nzip", webhook.Outcome{Status: 400, Start: "zip", Failure: webhook.FailedStatus}},
		"an endless promise": {"200 OK\r\n\r\n" + strings.Repeat("a", 100<<10), webhook.Outcome{Status: 200, Start: strings.Repeat("a", 500)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver := receive(t, "127.0.0.1:0", answerWith(t, c.answer))
			counted := ""
			sender := webhooks.New(true, func() time.Time { return now }, func(outcome string) { counted += outcome })
			sender.Trust(receiver.Certificate())
			got := sender.Send(t.Context(), attempt(receiver.URL))
			if got != c.want || counted != cmp.Or(string(got.Failure), "delivered") {
				t.Errorf("got  %+v\nwant %+v, and the metric counts %q", got, c.want, counted)
			}
		})
	}
}

// answerWith returns a handler that writes raw text, and closes the connection.
func answerWith(t *testing.T, text string) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if text != "" {
			_, _ = io.WriteString(conn, "HTTP/1.1 "+text) // the sender may have read enough
		}
		_ = conn.Close()
	}
}

// The rest of the body never comes.
func TestSend_ReadsTheStartOfABodyOnly(t *testing.T) {
	t.Parallel()
	receiver := receive(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(1<<30))
		_, _ = io.WriteString(w, strings.Repeat("a", 100<<10))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the sender has closed the connection
	})
	sender := senderTo(receiver)
	sender.Within(testwait.Patience)
	if got := sender.Send(t.Context(), attempt(receiver.URL)); got != (webhook.Outcome{Status: 200, Start: strings.Repeat("a", 500)}) {
		t.Errorf("the attempt ended with %+v", got)
	}
}

func TestSend_EndsWithAReceiverThatHangs(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"before the response": "", "in the body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan struct{})
			receiver := receive(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, begin)
				_, _ = io.Copy(io.Discard, conn) // until the sender gives up
				_ = conn.Close()
				close(closed)
			})
			sender := senderTo(receiver)
			sender.Within(200 * time.Millisecond)
			if got := sender.Send(t.Context(), attempt(receiver.URL)); got.Failure != webhook.FailedTimeout {
				t.Errorf("the attempt ended with %+v", got)
			}
			testwait.Until(t, "the connection is closed", func() bool {
				select {
				case <-closed:
					return true
				default:
					return false
				}
			})
		})
	}
}

// A connection of HTTP/2 would carry the next attempts as well.
func TestSend_LeavesAConnectionThatHangs(t *testing.T) {
	t.Parallel()
	connections := make(chan string, 3)
	receiver := receive(t, "127.0.0.1:0", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		connections <- r.RemoteAddr
		if len(connections) == 2 {
			<-r.Context().Done()
		}
	}, func(s *httptest.Server) { s.EnableHTTP2 = true })
	sender := senderTo(receiver)
	var failures []webhook.Failure
	for _, bound := range []time.Duration{testwait.Patience, 200 * time.Millisecond, testwait.Patience} {
		sender.Within(bound)
		failures = append(failures, sender.Send(t.Context(), attempt(receiver.URL)).Failure)
	}
	first, second, third := <-connections, <-connections, <-connections
	if !slices.Equal(failures, []webhook.Failure{"", webhook.FailedTimeout, ""}) || first != second || second == third {
		t.Errorf("the attempts ended with %q, over %s, %s and %s", failures, first, second, third)
	}
}

func TestSend_ClosesAConnectionWhoseHandshakeHangs(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	closed := make(chan error)
	go func() {
		conn, err := ln.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, conn) // until the sender gives up
		}
		closed <- err
	}()
	sender := newSender(true)
	sender.Within(200 * time.Millisecond)
	if got := sender.Send(t.Context(), attempt("https://"+ln.Addr().String())); got != (webhook.Outcome{Failure: webhook.FailedTimeout}) {
		t.Errorf("the attempt ended with %+v", got)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestSend_FollowsNoRedirect(t *testing.T) {
	t.Parallel()
	port, connections := listenOnLoopback(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		receiver := receive(t, "127.0.0.1:0", http.RedirectHandler("http://127.0.0.1:"+port+"/", status).ServeHTTP)
		got := senderTo(receiver).Send(t.Context(), attempt(receiver.URL))
		if got.Status != status || got.Failure != webhook.FailedStatus {
			t.Errorf("%d ended with %+v", status, got)
		}
	}
	if n := connections(); n > 0 {
		t.Errorf("%d connections arrived", n)
	}
}

func TestSend_ReportsThatThereIsNoConnection(t *testing.T) {
	t.Parallel()
	untrusted := receive(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) {})
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	old := receive(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) {}, func(s *httptest.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, target := range []string{
		untrusted.URL, strings.Replace(plain.URL, "p:", "ps:", 1), closed.URL, "https://nowhere.invalid/",
	} {
		sender := newSender(true)
		sender.ResolveWith(nameServer(t, func(string, int) []string { return nil }))
		if got := sender.Send(t.Context(), attempt(target)); got != (webhook.Outcome{Failure: webhook.FailedConnection}) {
			t.Errorf("%s ended with %+v", target, got)
		}
	}
	if got := senderTo(old).Send(t.Context(), attempt(old.URL)); got != (webhook.Outcome{Failure: webhook.FailedConnection}) {
		t.Errorf("TLS 1.1 ended with %+v", got)
	}
}
