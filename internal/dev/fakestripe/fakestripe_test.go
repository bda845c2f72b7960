package fakestripe_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t *testing.T, cfg fakestripe.Config) *fakestripe.Server {
	t.Helper()
	cfg.DatabaseURL = pgtest.New(t)
	server, err := fakestripe.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// charge charges payment 7 with a token, under the same key each time. It returns the
// response in one line, or "no response".
func charge(t *testing.T, server *fakestripe.Server, token string) string {
	t.Helper()
	form := url.Values{
		"amount": {"1999"}, "currency": {"rub"}, "payment_method": {token}, "confirm": {"true"},
		"metadata[orders_payment]": {"payment-7"},
	}
	return send(t, server, "/v1/payment_intents", "payment-7", form)
}

// send posts a form. It returns the response in one line, or "no response".
func send(t *testing.T, server *fakestripe.Server, path, key string, form url.Values) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Idempotency-Key": {key}}
	w := httptest.NewRecorder()
	if aborted(func() { server.Handler().ServeHTTP(w, r) }) {
		return "no response"
	}
	var body struct {
		Status string
		Error  struct{ Type, Code string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	line := []string{strconv.Itoa(w.Code), body.Status, body.Error.Type, body.Error.Code}
	if w.Header().Get("Idempotent-Replayed") == "true" {
		line = append(line, "replayed")
	}
	return strings.Join(strings.Fields(strings.Join(line, " ")), " ")
}

// aborted reports whether a handler ends the connection.
func aborted(handle func()) (aborted bool) {
	defer func() {
		err, _ := recover().(error)
		aborted = errors.Is(err, http.ErrAbortHandler)
	}()
	handle()
	return false
}

func TestTokens_BehaveAsDocumented(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]struct {
		first, second string
		charges       int // once late payments are decided
	}{
		"pm_card_visa":     {"200 succeeded", "200 succeeded replayed", 1},
		"pm_card_declined": {"402 card_error card_declined", "402 card_error card_declined replayed", 0},
		"pm_500_before":    {"500 api_error", "200 succeeded", 1},
		"pm_500":           {"500 api_error", "500 api_error replayed", 1},
		"pm_drop":          {"no response", "200 succeeded replayed", 1},
		"pm_late":          {"200 processing", "200 processing replayed", 1},
		"pm_late_declined": {"200 processing", "200 processing replayed", 0},
		"pm_action":        {"200 requires_action", "200 requires_action replayed", 0},
		"pm_unknown":       {"400 invalid_request_error resource_missing", "400 invalid_request_error resource_missing", 0},
	} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			server := open(t, fakestripe.Config{Late: time.Hour})

			first, second := charge(t, server, token), charge(t, server, token)

			if first != want.first || second != want.second {
				t.Errorf("responses %q and %q, want %q and %q", first, second, want.first, want.second)
			}
			if err := server.DecideLate(t.Context()); err != nil {
				t.Fatal(err)
			}
			charges, err := server.Charges(t.Context())
			if got := charges["payment-7"].Count; err != nil || got != want.charges {
				t.Errorf("%d charges, err = %v; want %d", got, err, want.charges)
			}
		})
	}
}

func TestKey_IsRejectedWithOtherParameters(t *testing.T) {
	t.Parallel()
	server := open(t, fakestripe.Config{})
	charge(t, server, "pm_card_visa")
	if got := charge(t, server, "pm_twice"); got != "400 idempotency_error" {
		t.Errorf("the response is %s", got)
	}
}

func TestServe_RefusesAListenerOnTheNetwork(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := open(t, fakestripe.Config{}).Serve(t.Context(), listener); err == nil {
		t.Error("it served the network")
	}
}

// Stripe's library checks the signatures.
func TestSendWebhooks_RetriesUntilTheReceiverAccepts(t *testing.T) {
	t.Parallel()
	accepted := make(chan string, 100)
	var seen atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, _ := io.ReadAll(r.Body)
		event, err := webhook.ConstructEvent(payload, r.Header.Get("Stripe-Signature"), "whsec_1")
		if err != nil {
			t.Error(err)
		}
		if seen.Add(1) <= 3 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		accepted <- string(event.Type)
	}))
	t.Cleanup(receiver.Close)
	server := open(t, fakestripe.Config{WebhookURL: receiver.URL, WebhookSecret: "whsec_1"})
	charge(t, server, "pm_card_visa")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); server.SendWebhooks(ctx) }()

	testwait.Until(t, "two events are accepted", func() bool { return len(accepted) == 2 })
	cancel()
	<-ended
	if one, two := <-accepted, <-accepted; one == two {
		t.Errorf("%s was accepted twice", one)
	}
}

// The amounts that Stripe refuses, in its smallest unit.
func TestCharge_RefusesAmountsThatStripeRefuses(t *testing.T) {
	server := open(t, fakestripe.Config{})
	for amount, want := range map[string]string{
		"35205 kwd": "400 invalid_request_error", "35200 kwd": "200 succeeded",
		"501 isk": "400 invalid_request_error", "500 isk": "200 succeeded", "501 ugx": "400 invalid_request_error",
		"49 usd": "400 invalid_request_error amount_too_small", "50 usd": "200 succeeded", "17499 huf": "400 invalid_request_error amount_too_small",
		"17505 huf": "200 succeeded", "1055 twd": "200 succeeded", "500 jpy": "200 succeeded",
		"99999999 usd": "200 succeeded", "100000000 usd": "400 invalid_request_error amount_too_large",
		"100000000 idr": "200 succeeded", "10000 clf": "400 invalid_request_error",
	} {
		minor, currency, _ := strings.Cut(amount, " ")
		form := url.Values{"amount": {minor}, "currency": {currency}, "payment_method": {"pm_card_visa"}, "confirm": {"true"}}
		if got := send(t, server, "/v1/payment_intents", amount, form); got != want {
			t.Errorf("%s: %q, want %q", amount, got, want)
		}
	}
}
