package fakestripe_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
)

func TestTokens_BehaveAsDocumented(t *testing.T) {
	t.Parallel()
	noResponse := response{}
	declined := func(code string) response {
		return response{Code: 402, Error: "card_error card_declined " + code}
	}
	unknown := response{Code: 400, Error: "invalid_request_error resource_missing"}
	replay := func(r response) response { r.Replayed = true; return r }
	succeeded, processing := response{Code: 200, Status: "succeeded"}, response{Code: 200, Status: "processing"}
	failed, action := response{Code: 500, Error: "api_error"}, response{Code: 200, Status: "requires_action"}
	tests := map[string]struct {
		first, second response
		after         charges // after the first response
		finally       charges // once late payments are decided
	}{
		"pm_card_visa":     {succeeded, replay(succeeded), oneCharge, oneCharge},
		"pm_card_declined": {declined("generic_decline"), replay(declined("generic_decline")), noCharge, noCharge},
		"pm_insufficient":  {declined("insufficient_funds"), replay(declined("insufficient_funds")), noCharge, noCharge},
		"pm_500_before":    {failed, succeeded, noCharge, oneCharge},
		"pm_500":           {failed, replay(failed), oneCharge, oneCharge},
		"pm_drop":          {noResponse, replay(succeeded), oneCharge, oneCharge},
		"pm_late":          {processing, replay(processing), noCharge, oneCharge},
		"pm_late_declined": {processing, replay(processing), noCharge, noCharge},
		"pm_action":        {action, replay(action), noCharge, noCharge},
		"pm_twice":         {succeeded, replay(succeeded), oneCharge, oneCharge},
		"pm_unknown":       {unknown, unknown, noCharge, noCharge},
	}
	for token, test := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			f := start(t, fakestripe.Config{Late: time.Hour})
			first, _, _ := f.charge(t, token)
			if diff := cmp.Diff(test.first, first); diff != "" {
				t.Errorf("first response (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.after, f.charged(t)); diff != "" {
				t.Errorf("charges after the first response (-want +got):\n%s", diff)
			}
			second, _, _ := f.charge(t, token)
			if diff := cmp.Diff(test.second, second); diff != "" {
				t.Errorf("second response (-want +got):\n%s", diff)
			}
			f.decideLate(t)
			if diff := cmp.Diff(test.finally, f.charged(t)); diff != "" {
				t.Errorf("charges in the end (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHang_LastsUntilTheCallerGivesUp(t *testing.T) {
	t.Parallel()
	f := start(t, fakestripe.Config{Failures: 2})
	for range 2 {
		f.giveUp(t)
	}
	// The server may still be busy with the call that was given up.
	var res response
	for res.Code == 0 || res.Code == http.StatusConflict {
		var err error
		if res, _, err = f.charge(t, "pm_hang"); err != nil {
			t.Fatal(err)
		}
	}
	if res.Code != http.StatusOK {
		t.Errorf("the third attempt got %+v, want 200", res)
	}
	if diff := cmp.Diff(oneCharge, f.charged(t)); diff != "" {
		t.Errorf("charges (-want +got):\n%s", diff)
	}
}

// giveUp makes a call that hangs, and gives up after 50 ms. A call that gets 409,
// because the server is still busy with the one before, is repeated until then.
func (f fake) giveUp(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		body := strings.NewReader("payment_method=pm_hang")
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/v1/payment_intents", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = formHeader(key)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusConflict {
			t.Fatalf("a call that should hang got the status %d", res.StatusCode)
		}
	}
}

func TestCancel_CancelsOnlyAnIntentThatRequiresAction(t *testing.T) {
	t.Parallel()
	unexpected := response{Code: 400, Error: "invalid_request_error payment_intent_unexpected_state"}
	for token, want := range map[string]response{
		"pm_action":    {Code: 200, Status: "canceled"},
		"pm_card_visa": unexpected,
		"pm_late":      unexpected,
	} {
		f := start(t, fakestripe.Config{})
		_, created, err := f.charge(t, token)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := post(t, f.url+"/v1/payment_intents/"+created.ID+"/cancel", "payment-7-cancel", nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: response (-want +got):\n%s", token, diff)
		}
	}
}

func TestKey_IsRejectedWithOtherParameters(t *testing.T) {
	t.Parallel()
	f := start(t, fakestripe.Config{})
	f.mustCharge(t, "pm_card_visa")
	got, _, err := f.charge(t, "pm_twice")
	if err != nil || got.Code != http.StatusBadRequest || got.Error != "idempotency_error" {
		t.Errorf("response %+v, err = %v; want 400 idempotency_error", got, err)
	}
	if diff := cmp.Diff(oneCharge, f.charged(t)); diff != "" {
		t.Errorf("charges (-want +got):\n%s", diff)
	}
}

// The test locks the table of responses, so that the call which comes first runs until
// the other one has its response.
func TestKey_IsRejectedWhileItsFirstCallRuns(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	f := start(t, fakestripe.Config{DatabaseURL: database})
	conn := connect(t, database)
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE fakestripe.response"); err != nil {
		t.Fatal(err)
	}
	responses := make(chan response, 2)
	for range 2 {
		go func() {
			got, _, err := f.charge(t, "pm_card_visa")
			if err != nil {
				t.Error(err)
			}
			responses <- got // even after an error, or the test would never end
		}()
	}
	want := response{Code: http.StatusConflict, Error: "idempotency_error idempotency_key_in_use"}
	if got := <-responses; got != want {
		t.Errorf("the second call got %+v, want %+v", got, want)
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if got := <-responses; got.Code != http.StatusOK {
		t.Errorf("the first call got %+v, want 200", got)
	}
	if diff := cmp.Diff(oneCharge, f.charged(t)); diff != "" {
		t.Errorf("charges (-want +got):\n%s", diff)
	}
}

func TestKey_SurvivesTheProcess(t *testing.T) {
	t.Parallel()
	cfg := fakestripe.Config{DatabaseURL: pgtest.New(t)}
	_, before, err := start(t, cfg).charge(t, "pm_card_visa")
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, cfg)
	got, after, err := f.charge(t, "pm_card_visa")
	if err != nil || !got.Replayed || after.Body != before.Body {
		t.Errorf("before: %s\nafter:  %s (replayed = %t, err = %v)", before.Body, after.Body, got.Replayed, err)
	}
	if diff := cmp.Diff(oneCharge, f.charged(t)); diff != "" {
		t.Errorf("charges (-want +got):\n%s", diff)
	}
}

func TestRefundTokens_BehaveAsDocumented(t *testing.T) {
	t.Parallel()
	const noResponse = 0
	tests := map[string]struct {
		code     int
		status   string
		refunded int64 // once late refunds are decided
	}{
		"pm_card_visa":   {200, "succeeded", 500},
		"pm_refund_fail": {200, "failed", 0},
		"pm_refund_late": {200, "pending", 500},
		"pm_refund_500":  {500, "", 500},
		"pm_refund_drop": {noResponse, "", 500},
	}
	for token, test := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			f := start(t, fakestripe.Config{Late: time.Hour})
			intent := f.mustCharge(t, token)
			got, _ := f.refund(t, intent, "refund-8", "500")
			if got.Code != test.code || got.Status != test.status {
				t.Errorf("response %d %q, want %d %q", got.Code, got.Status, test.code, test.status)
			}
			f.decideLate(t)
			if refunded := f.charged(t)["payment-7"].Refunded; refunded != test.refunded {
				t.Errorf("%d refunded, want %d", refunded, test.refunded)
			}
		})
	}
}

func TestRefunds_NeverExceedTheCharge(t *testing.T) {
	t.Parallel()
	f := start(t, fakestripe.Config{})
	intent := f.mustCharge(t, "pm_card_visa") // of 1999
	for _, refund := range []struct{ key, amount, wantError string }{
		{"refund-a", "1000", ""},
		{"refund-b", "1000", "invalid_request_error"},
		{"refund-c", "999", ""},
		{"refund-d", "1", "invalid_request_error charge_already_refunded"},
	} {
		got, err := f.refund(t, intent, refund.key, refund.amount)
		if err != nil || got.Error != refund.wantError {
			t.Errorf("%s of %s: %q, err = %v; want %q", refund.key, refund.amount, got.Error, err, refund.wantError)
		}
	}
}

func TestHandler_RejectsAWrongAPIKey(t *testing.T) {
	t.Parallel()
	f := start(t, fakestripe.Config{Key: "sk_test_1"})
	got, _, err := f.charge(t, "pm_card_visa")
	if err != nil || got.Code != http.StatusUnauthorized {
		t.Errorf("response %+v, err = %v; want 401", got, err)
	}
	if diff := cmp.Diff(noCharge, f.charged(t)); diff != "" {
		t.Errorf("charges (-want +got):\n%s", diff)
	}
}

func TestServe_RefusesAListenerOnTheNetwork(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := start(t, fakestripe.Config{}).server.Serve(t.Context(), listener); err == nil {
		t.Error("it served the network")
	}
}

func TestServe_EndsWithItsContextEvenWhileACallHangs(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	database := pgtest.New(t)
	f := start(t, fakestripe.Config{DatabaseURL: database})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(ctx, listener) }()
	f.url = "http://" + listener.Addr().String()
	hanging := make(chan error, 1)
	go func() {
		_, _, err := f.charge(t, "pm_hang")
		hanging <- err
	}()
	awaitAttempt(t, database)
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := <-hanging; err == nil {
		t.Error("the hanging call got a response")
	}
}

// awaitAttempt returns when the server has counted an attempt, after which the call
// hangs.
func awaitAttempt(t *testing.T, database string) {
	t.Helper()
	conn := connect(t, database)
	for counted := false; !counted; {
		err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM fakestripe.attempt)`).Scan(&counted)
		if err != nil {
			t.Fatal(err)
		}
	}
}
