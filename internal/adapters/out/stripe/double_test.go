package stripe_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// provider is the double and a gateway to it.
type provider struct {
	*fakestripe.Server
	*stripe.Gateway
	database string
}

const webhookSecret = "whsec_double"

func startProvider(t *testing.T, cfg fakestripe.Config) provider {
	t.Helper()
	cfg.DatabaseURL, cfg.Key, cfg.WebhookSecret, cfg.Late = pgtest.New(t), "sk_test_double", webhookSecret, time.Hour
	server, err := fakestripe.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	listener := httptest.NewServer(server.Handler())
	t.Cleanup(listener.Close)
	gateway := stripe.New(stripe.Config{Key: cfg.Key, URL: listener.URL, Timeout: time.Second})
	return provider{Server: server, Gateway: gateway, database: cfg.DatabaseURL}
}

// forgetKeys does what Stripe does with keys after 24 hours.
func (p provider) forgetKeys(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `DELETE FROM psp_double.answer`); err != nil {
		t.Fatal(err)
	}
}

func cardCharge(t *testing.T, id int64, token string) payment.ChargeRequest {
	t.Helper()
	return payment.ChargeRequest{
		Key: fmt.Sprintf("payment-%d", id), PaymentID: id, OrderID: 3, Amount: money(t, "1999.00", "RUB"), Token: token,
	}
}

// asked is how a question went until it was answered.
type asked struct {
	Outcome payment.ChargeOutcome
	Reason  string
	Unknown int // answers "nobody knows" before that
	Pending int // and "not decided"
}

// untilDecided asks as the job does, and lets the double decide what is late whenever it is told so.
func (p provider) untilDecided(t *testing.T, ask func(again bool) (payment.ChargeResult, error)) (asked, string) {
	t.Helper()
	var how asked
	const patience = 20 // questions
	for again := false; how.Unknown+how.Pending < patience; again = true {
		result, err := ask(again)
		switch {
		case err != nil:
			t.Log(err)
			how.Unknown++
		case result.Outcome == payment.ChargePending:
			how.Pending++
			if err := p.DecideLate(t.Context()); err != nil {
				t.Fatal(err)
			}
		default:
			how.Outcome, how.Reason = result.Outcome, result.Reason
			return how, result.ExternalID
		}
	}
	t.Errorf("not decided: %+v", how)
	return how, ""
}

func (p provider) chargeUntilDecided(t *testing.T, c payment.ChargeRequest) (asked, string) {
	t.Helper()
	return p.untilDecided(t, func(again bool) (payment.ChargeResult, error) {
		c.Again = again
		return p.Charge(t.Context(), c)
	})
}

// wantCharges compares what the double charged, and what the gateway lists, with what is wanted: payments and what was
// refunded of each.
func (p provider) wantCharges(t *testing.T, want map[int64]string) {
	t.Helper()
	charges, err := p.Server.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range charges {
		if c.Count != 1 || c.Amount != 199900 || c.Currency != "rub" {
			t.Errorf("payment %d was charged %d times, %d %s together", id, c.Count, c.Amount, c.Currency)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(charges))); diff != "" {
		t.Errorf("payments charged (-want +got):\n%s", diff)
	}
	listed, err := p.Gateway.Charges(t.Context(), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]string{}
	for _, c := range listed {
		if c.Captured {
			got[c.PaymentID] = c.Refunded.Decimal()
			if c.ExternalID != charges[c.PaymentID].ID || !c.Amount.Equal(money(t, "1999.00", "RUB")) {
				t.Errorf("listed: %+v, want %+v", c, charges[c.PaymentID])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payments listed and refunded (-want +got):\n%s", diff)
	}
}

var (
	unrefunded = map[int64]string{7: "0.00"}
	nothing    = map[int64]string{}
)

func TestEachBehaviourEndsInOneCharge(t *testing.T) {
	declined := func(reason string) asked { return asked{Outcome: payment.ChargeRefused, Reason: reason} }
	tests := map[string]struct {
		how     asked
		charges map[int64]string
	}{
		"pm_card_visa":     {asked{Outcome: payment.ChargeSucceeded}, unrefunded},
		"pm_card_declined": {declined("generic_decline"), nothing},
		"pm_insufficient":  {declined("insufficient_funds"), nothing},
		"pm_hang":          {asked{Outcome: payment.ChargeSucceeded}, unrefunded},
		"pm_drop":          {asked{Outcome: payment.ChargeSucceeded}, unrefunded},
		"pm_500":           {asked{Outcome: payment.ChargeSucceeded, Unknown: 1}, unrefunded},
		"pm_500_before":    {asked{Outcome: payment.ChargeSucceeded, Unknown: 1}, unrefunded},
		"pm_late":          {asked{Outcome: payment.ChargeSucceeded, Pending: 1}, unrefunded},
		"pm_late_declined": {asked{Outcome: payment.ChargeRefused, Reason: "generic_decline", Pending: 1}, nothing},
		"pm_twice":         {asked{Outcome: payment.ChargeSucceeded}, unrefunded},
		"pm_action":        {declined("requires_action"), nothing},
		"pm_refund_fail":   {asked{Outcome: payment.ChargeSucceeded}, unrefunded},
		"pm_refund_late":   {asked{Outcome: payment.ChargeSucceeded}, unrefunded},
		"pm_refund_drop":   {asked{Outcome: payment.ChargeSucceeded}, unrefunded},
		"pm_refund_500":    {asked{Outcome: payment.ChargeSucceeded}, unrefunded},
		"pm_unknown":       {declined("resource_missing"), nothing},
	}
	for _, token := range fakestripe.Tokens() {
		if _, tested := tests[token]; !tested {
			t.Errorf("%s is not tested", token)
		}
	}
	for token, test := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			p := startProvider(t, fakestripe.Config{})
			how, _ := p.chargeUntilDecided(t, cardCharge(t, 7, token))
			if diff := cmp.Diff(test.how, how); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			p.wantCharges(t, test.charges)
			// Asked again, with the key or after it is forgotten, nothing changes.
			for range 2 {
				c := cardCharge(t, 7, token)
				c.Again = true
				result, err := p.Charge(t.Context(), c)
				if err != nil || result.Outcome != test.how.Outcome {
					t.Errorf("asked again: %+v, err = %v", result, err)
				}
				p.wantCharges(t, test.charges)
				p.forgetKeys(t)
			}
		})
	}
}

// TestSearchThatIsBehindChargesNothingTwice lets the search see nothing, as Stripe's does for a minute: then the key
// has to do.
func TestSearchThatIsBehindChargesNothingTwice(t *testing.T) {
	for token, want := range map[string]asked{
		"pm_card_visa": {Outcome: payment.ChargeSucceeded},
		"pm_drop":      {Outcome: payment.ChargeSucceeded},
		"pm_declined":  {Outcome: payment.ChargeRefused, Reason: "resource_missing"},
	} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			p := startProvider(t, fakestripe.Config{SearchLag: time.Hour})
			for range 3 {
				c := cardCharge(t, 7, token)
				c.Again = true
				result, err := p.Charge(t.Context(), c)
				if got := (asked{Outcome: result.Outcome, Reason: result.Reason}); err != nil || got != want {
					t.Errorf("%+v, err = %v; want %+v", got, err, want)
				}
			}
			if want.Outcome == payment.ChargeSucceeded {
				p.wantCharges(t, unrefunded)
			}
		})
	}
}

// TestFailureKeptUnderItsKeyStaysUnknown: while the search is behind, nobody knows that pm_500 has charged.
func TestFailureKeptUnderItsKeyStaysUnknown(t *testing.T) {
	p := startProvider(t, fakestripe.Config{SearchLag: time.Hour})
	for i := range 3 {
		c := cardCharge(t, 7, "pm_500")
		c.Again = i > 0
		if result, err := p.Charge(t.Context(), c); err == nil {
			t.Errorf("try %d: %+v, want an error", i+1, result)
		}
	}
	p.wantCharges(t, unrefunded)
}

func TestManyAtOnceChargeOnce(t *testing.T) {
	p := startProvider(t, fakestripe.Config{})
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			how, _ := p.untilDecided(t, func(again bool) (payment.ChargeResult, error) {
				c := cardCharge(t, 7, "pm_card_visa")
				c.Again = again || i%2 == 0
				return p.Charge(t.Context(), c)
			})
			if how.Outcome != payment.ChargeSucceeded {
				t.Errorf("caller %d: %+v", i, how)
			}
		})
	}
	callers.Wait()
	p.wantCharges(t, unrefunded)
}

func TestAnothersChargeIsNotTakenForOurs(t *testing.T) {
	p := startProvider(t, fakestripe.Config{})
	if _, err := p.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa")); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*payment.ChargeRequest){
		"another order":    func(c *payment.ChargeRequest) { c.OrderID = 4 },
		"another amount":   func(c *payment.ChargeRequest) { c.Amount = money(t, "1.00", "RUB") },
		"another currency": func(c *payment.ChargeRequest) { c.Amount = money(t, "1999.00", "USD") },
	} {
		c := cardCharge(t, 7, "pm_card_visa")
		c.Again = true
		change(&c)
		if result, err := p.Charge(t.Context(), c); err == nil {
			t.Errorf("%s: %+v, want an error", name, result)
		}
		c.Again = false // the same key for something else
		if result, err := p.Charge(t.Context(), c); err == nil {
			t.Errorf("%s, without asking first: %+v, want an error", name, result)
		}
	}
	p.wantCharges(t, unrefunded)
}

func TestEachRefundIsMadeOnce(t *testing.T) {
	tests := map[string]struct {
		how      asked
		refunded string
	}{
		"pm_card_visa":   {asked{Outcome: payment.ChargeSucceeded}, "500.00"},
		"pm_twice":       {asked{Outcome: payment.ChargeSucceeded}, "500.00"},
		"pm_refund_fail": {asked{Outcome: payment.ChargeRefused, Reason: "expired_or_canceled_card"}, "0.00"},
		"pm_refund_late": {asked{Outcome: payment.ChargeSucceeded, Pending: 1}, "500.00"},
		"pm_refund_drop": {asked{Outcome: payment.ChargeSucceeded}, "500.00"},
		"pm_refund_500":  {asked{Outcome: payment.ChargeSucceeded, Unknown: 1}, "500.00"},
	}
	for token, test := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			p := startProvider(t, fakestripe.Config{})
			_, externalID := p.chargeUntilDecided(t, cardCharge(t, 7, token))
			r := payment.RefundRequest{Key: "refund-8", RefundID: 8, PaymentID: 7, Amount: money(t, "500.00", "RUB"), ExternalID: externalID}
			how, _ := p.untilDecided(t, func(again bool) (payment.ChargeResult, error) {
				r.Again = again
				return p.Refund(t.Context(), r)
			})
			if diff := cmp.Diff(test.how, how); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			p.forgetKeys(t)
			r.Again = true
			if result, err := p.Refund(t.Context(), r); err != nil || result.Outcome != test.how.Outcome {
				t.Errorf("asked again without its key: %+v, err = %v", result, err)
			}
			r.Amount = money(t, "1.00", "RUB")
			if result, err := p.Refund(t.Context(), r); err == nil {
				t.Errorf("another amount with its id: %+v, want an error", result)
			}
			p.wantCharges(t, map[int64]string{7: test.refunded})
		})
	}
}

func TestRefundOfTooMuchIsRefused(t *testing.T) {
	p := startProvider(t, fakestripe.Config{})
	_, externalID := p.chargeUntilDecided(t, cardCharge(t, 7, "pm_card_visa"))
	r := payment.RefundRequest{RefundID: 8, PaymentID: 7, Amount: money(t, "1999.00", "RUB"), ExternalID: externalID}
	for i, want := range []payment.ChargeOutcome{payment.ChargeSucceeded, payment.ChargeRefused} {
		r.Key, r.RefundID = fmt.Sprintf("refund-%d", i), int64(i)
		if result, err := p.Refund(t.Context(), r); err != nil || result.Outcome != want {
			t.Errorf("refund %d: %+v, err = %v", i, result, err)
		}
	}
	p.wantCharges(t, map[int64]string{7: "1999.00"})
}

// TestListsAreReadToTheirEnd has more than one page of each.
func TestListsAreReadToTheirEnd(t *testing.T) {
	p := startProvider(t, fakestripe.Config{})
	want := map[int64]string{}
	var externalID string
	for id := range int64(120) {
		result, err := p.Charge(t.Context(), cardCharge(t, id+1, "pm_card_visa"))
		if err != nil {
			t.Fatal(err)
		}
		want[id+1], externalID = "0.00", result.ExternalID
	}
	refund := func(id int64, again bool) (payment.ChargeResult, error) {
		return p.Refund(t.Context(), payment.RefundRequest{
			Key: fmt.Sprintf("refund-%d", id), RefundID: id, PaymentID: 120, Amount: money(t, "1.00", "RUB"), ExternalID: externalID, Again: again,
		})
	}
	for id := range int64(120) {
		if _, err := refund(id+1, false); err != nil {
			t.Fatal(err)
		}
	}
	p.forgetKeys(t)
	if result, err := refund(1, true); err != nil || result.Outcome != payment.ChargeSucceeded {
		t.Errorf("the first refund: %+v, err = %v", result, err)
	}
	want[120] = "120.00"
	p.wantCharges(t, want)
}

// TestWebhooksOfTheDoubleAreRead compares the last word of the webhooks with what the gateway was answered.
func TestWebhooksOfTheDoubleAreRead(t *testing.T) {
	p := startProvider(t, fakestripe.Config{})
	want := map[string]payment.ChargeResult{}
	for i, token := range []string{"pm_card_visa", "pm_card_declined", "pm_late", "pm_refund_fail"} {
		id := int64(i + 1)
		how, externalID := p.chargeUntilDecided(t, cardCharge(t, id, token))
		if how.Outcome == payment.ChargeRefused { // another try might succeed, for all that a webhook knows
			want[fmt.Sprintf("payment %d", id)] = payment.ChargeResult{Outcome: payment.ChargePending, ExternalID: externalID}
			continue
		}
		want[fmt.Sprintf("payment %d", id)] = payment.ChargeResult{Outcome: how.Outcome, ExternalID: externalID}
		refund, err := p.Refund(t.Context(), payment.RefundRequest{
			Key: fmt.Sprintf("refund-%d", id), RefundID: id, PaymentID: id, Amount: money(t, "5.00", "RUB"), ExternalID: externalID,
		})
		if err != nil {
			t.Fatal(err)
		}
		want[fmt.Sprintf("refund %d of %d", id, id)] = refund
	}
	if diff := cmp.Diff(want, p.readWebhooks(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func (p provider) readWebhooks(t *testing.T) map[string]payment.ChargeResult {
	t.Helper()
	webhooks, err := p.Webhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]payment.ChargeResult{}
	for _, w := range webhooks {
		payload := []byte(w.Payload)
		event, err := webhooksAt(webhookSecret, time.Now()).Parse(payload, fakestripe.Sign(webhookSecret, payload, time.Now()))
		if err != nil || event.Message.ID != w.EventID {
			t.Errorf("%s: %+v, err = %v", w.Type, event, err)
		}
		switch {
		case event.RefundID != 0:
			said[fmt.Sprintf("refund %d of %d", event.RefundID, event.PaymentID)] = event.Result
		case event.PaymentID != 0:
			said[fmt.Sprintf("payment %d", event.PaymentID)] = event.Result
		case w.Type != "payment_intent.created":
			t.Errorf("%s is read as an event about nothing of ours", w.Type)
		}
	}
	return said
}

// TestWrongKeyIsNobodysDecline: the payment waits for an operator.
func TestWrongKeyIsNobodysDecline(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error": {"type": "invalid_request_error", "message": "Invalid API Key provided: sk_live_***"}}`))
	}))
	t.Cleanup(server.Close)
	gateway := stripe.New(stripe.Config{Key: "sk_live_secret", URL: server.URL})
	_, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
	if err == nil || strings.Contains(err.Error(), "sk_live") {
		t.Errorf("err = %v; want one without the key", err)
	}
}
