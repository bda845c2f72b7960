package stripe_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
)

const webhookSecret = "whsec_fake"

// fixture is a gateway that talks to a fakestripe.
type fixture struct {
	fake    *fakestripe.Server
	gateway *stripe.Gateway
	url     string // of the database with the fakestripe's state
}

func newFixture(t *testing.T, cfg fakestripe.Config) fixture {
	t.Helper()
	cfg.DatabaseURL, cfg.Key, cfg.WebhookSecret = pgtest.New(t), "sk_test_fake", webhookSecret
	cfg.Late = time.Hour // late payments are decided when a test says so
	fake, err := fakestripe.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	server := httptest.NewServer(fake.Handler())
	t.Cleanup(server.Close)
	gateway := stripe.New(stripe.Config{Key: cfg.Key, URL: server.URL, Timeout: time.Second})
	return fixture{fake: fake, gateway: gateway, url: cfg.DatabaseURL}
}

// expireKeys lets the fakestripe forget all idempotency keys.
func (f fixture) expireKeys(t *testing.T) {
	t.Helper()
	if err := f.fake.ForgetKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// settlement is how a charge or a refund was settled.
type settlement struct {
	Outcome cards.ChargeOutcome
	Reason  string
	Unknown int // attempts before that with an unknown outcome
	Pending int // attempts before that which found it pending
}

// settle repeats an attempt until the outcome is known, as the job does. When it is
// pending, the fakestripe decides. settle returns the external id, too.
func (f fixture) settle(
	t *testing.T, attempt func(retry bool) (cards.ChargeResult, error),
) (settlement, string) {
	t.Helper()
	var s settlement
	const maxAttempts = 20
	for retry := false; s.Unknown+s.Pending < maxAttempts; retry = true {
		result, err := attempt(retry)
		switch {
		case err != nil:
			t.Log(err)
			s.Unknown++
		case result.Outcome == cards.ChargePending:
			s.Pending++
			if err := f.fake.DecideLate(t.Context()); err != nil {
				t.Fatal(err)
			}
		default:
			s.Outcome, s.Reason = result.Outcome, result.Reason
			return s, result.ExternalID
		}
	}
	t.Errorf("not settled after %d attempts: %+v", maxAttempts, s)
	return s, ""
}

func (f fixture) settleCharge(t *testing.T, c cards.ChargeRequest) (settlement, string) {
	t.Helper()
	return f.settle(t, func(retry bool) (cards.ChargeResult, error) {
		c.Retry = retry
		return f.gateway.Charge(t.Context(), c)
	})
}

// refundOf returns the request of a refund of payment 7.
func refundOf(t *testing.T, externalID, amount string) cards.RefundRequest {
	t.Helper()
	return cardRefund(t, 7, 8, externalID, amount)
}

// refunds maps each payment that was charged to the amount refunded of it.
type refunds map[string]string

var (
	onlyPayment7 = refunds{"payment-7": "0.00"}
	noPayment    = refunds{}
)

// wantCharges checks that exactly these payments were charged, each once and 1999.00
// RUB, and that the gateway lists them with what was refunded of each.
func (f fixture) wantCharges(t *testing.T, want refunds) {
	t.Helper()
	charges, err := f.fake.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range charges {
		if c.Count != 1 || c.Amount != 199900 || c.Currency != "rub" {
			t.Errorf("%s was charged %d times, %d %s in all", id, c.Count, c.Amount, c.Currency)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(charges))); diff != "" {
		t.Errorf("payments charged (-want +got):\n%s", diff)
	}
	listed, err := f.gateway.Charges(t.Context(), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	got := refunds{}
	for _, c := range listed {
		if !c.Captured {
			continue
		}
		got[c.Payment] = c.Refunded.Decimal()
		if c.ExternalID != charges[c.Payment].ID || !c.Amount.Equal(money(t, "1999.00", "RUB")) {
			t.Errorf("the gateway lists %+v, want %+v", c, charges[c.Payment])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payments listed and refunded (-want +got):\n%s", diff)
	}
}

func TestCharge_ChargesOnceWhateverStripeDoes(t *testing.T) {
	t.Parallel()
	captured := settlement{Outcome: cards.ChargeSucceeded}
	declined := func(reason string) settlement {
		return settlement{Outcome: cards.ChargeRefused, Reason: reason}
	}
	tests := map[string]struct {
		want    settlement
		charges refunds
	}{
		"pm_card_visa":     {captured, onlyPayment7},
		"pm_card_declined": {declined("generic_decline"), noPayment},
		"pm_hang":          {captured, onlyPayment7},
		"pm_drop":          {captured, onlyPayment7},
		"pm_500":           {settlement{Outcome: cards.ChargeSucceeded, Unknown: 1}, onlyPayment7},
		"pm_500_before":    {settlement{Outcome: cards.ChargeSucceeded, Unknown: 1}, onlyPayment7},
		"pm_late":          {settlement{Outcome: cards.ChargeSucceeded, Pending: 1}, onlyPayment7},
		"pm_late_declined": {settlement{Outcome: cards.ChargeRefused, Reason: "generic_decline", Pending: 1}, noPayment},
		"pm_action":        {declined("authentication_required"), noPayment},
	}
	for token, test := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, fakestripe.Config{})
			got, _ := f.settleCharge(t, cardCharge(t, 7, token))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("settlement (-want +got):\n%s", diff)
			}
			f.wantCharges(t, test.charges)

			// A retry changes nothing, with the key and after Stripe has forgotten it.
			for range 2 {
				result, err := f.gateway.Charge(t.Context(), retryOf(cardCharge(t, 7, token)))
				if err != nil || result.Outcome != test.want.Outcome {
					t.Errorf("retry: %+v, err = %v", result, err)
				}
				f.wantCharges(t, test.charges)
				f.expireKeys(t)
			}
		})
	}
}

// Stripe's search misses a new charge for a minute. Then the key must be enough. After a
// 500, which Stripe stores under the key, only the search could find the charge.
func TestCharge_ChargesOnceWhileTheSearchLags(t *testing.T) {
	t.Parallel()
	for token, known := range map[string]bool{"pm_card_visa": true, "pm_drop": true, "pm_500": false} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, fakestripe.Config{SearchLag: time.Hour})
			for i := range 3 {
				c := cardCharge(t, 7, token)
				c.Retry = i > 0
				result, err := f.gateway.Charge(t.Context(), c)
				if (err == nil) != known || known && result.Outcome != cards.ChargeSucceeded {
					t.Errorf("attempt %d: %+v, err = %v; want a known outcome: %t", i+1, result, err, known)
				}
			}
			f.wantCharges(t, onlyPayment7)
		})
	}
}

// Nothing is charged, and the core sees that the result is about another charge.
func TestCharge_ReturnsTheTermsOfAnotherChargeWithThePaymentsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, fakestripe.Config{})
	first, err := f.gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*cards.ChargeRequest){
		"another order":    func(c *cards.ChargeRequest) { c.OrderID = 4 },
		"another amount":   func(c *cards.ChargeRequest) { c.Amount = money(t, "1.00", "RUB") },
		"another currency": func(c *cards.ChargeRequest) { c.Amount = money(t, "1999.00", "USD") },
	} {
		c := cardCharge(t, 7, "pm_card_visa")
		change(&c)
		result, err := f.gateway.Charge(t.Context(), retryOf(c))
		if diff := cmp.Diff(first, result); err != nil || diff != "" {
			t.Errorf("%s, found by search: err = %v, result (-want +got):\n%s", name, err, diff)
		}
		if result, err := f.gateway.Charge(t.Context(), c); err == nil {
			t.Errorf("%s, with the same key: %+v, want an error", name, result)
		}
	}
	f.wantCharges(t, onlyPayment7)
}

func TestRefund_RefundsOnceWhateverStripeDoes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want     settlement
		refunded string
	}{
		"pm_card_visa":   {settlement{Outcome: cards.ChargeSucceeded}, "500.00"},
		"pm_refund_fail": {settlement{Outcome: cards.ChargeRefused, Reason: "expired_or_canceled_card"}, "0.00"},
		"pm_refund_late": {settlement{Outcome: cards.ChargeSucceeded, Pending: 1}, "500.00"},
		"pm_refund_drop": {settlement{Outcome: cards.ChargeSucceeded}, "500.00"},
		"pm_refund_500":  {settlement{Outcome: cards.ChargeSucceeded, Unknown: 1}, "500.00"},
	}
	for token, test := range tests {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, fakestripe.Config{})
			_, externalID := f.settleCharge(t, cardCharge(t, 7, token))
			r := refundOf(t, externalID, "500.00")
			got, _ := f.settle(t, func(retry bool) (cards.ChargeResult, error) {
				r.Retry = retry
				return f.gateway.Refund(t.Context(), r)
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("settlement (-want +got):\n%s", diff)
			}

			r.Retry = false
			_, _ = f.gateway.Refund(t.Context(), r) // a first attempt again: the key is enough
			f.expireKeys(t)
			r.Retry = true
			if result, err := f.gateway.Refund(t.Context(), r); err != nil || result.Outcome != test.want.Outcome {
				t.Errorf("retry without the key: %+v, err = %v", result, err)
			}
			r.Amount = money(t, "1.00", "RUB")
			result, err := f.gateway.Refund(t.Context(), r)
			if err != nil || !result.Amount.Equal(money(t, "500.00", "RUB")) {
				t.Errorf("another amount with the refund's key: %+v, err = %v; want the terms of the first", result, err)
			}
			f.wantCharges(t, refunds{"payment-7": test.refunded})
		})
	}
}

// Somebody has refunded in the dashboard. That is no decision about our refund, because the
// core does not know of the other one yet.
func TestRefund_OfMoreThanIsLeftIsUndecided(t *testing.T) {
	t.Parallel()
	for name, inDashboard := range map[string]int64{"all": 199900, "a part": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, fakestripe.Config{})
			_, externalID := f.settleCharge(t, cardCharge(t, 7, "pm_card_visa"))
			made, err := f.fake.RefundInDashboard(t.Context(), externalID, inDashboard, "succeeded")
			if err != nil {
				t.Fatal(err)
			}
			if result, err := f.gateway.Refund(t.Context(), refundOf(t, externalID, "1999.00")); !errors.Is(err, cards.ErrReturnedElsewhere) {
				t.Errorf("%+v, err = %v; want %v", result, err, cards.ErrReturnedElsewhere)
			}
			got, err := f.gateway.Refund(t.Context(), cards.RefundRequest{MadeID: made, Terms: cards.Terms{Amount: money(t, "1.00", "RUB")}})
			if err != nil || got.Outcome != cards.ChargeSucceeded || got.ExternalID != made || got.Charge != externalID {
				t.Errorf("the refund of the dashboard: %+v, err = %v", got, err)
			}
		})
	}
}

func TestReports_ListWhoeverRefundedOurCharges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, fakestripe.Config{})
	_, externalID := f.settleCharge(t, cardCharge(t, 7, "pm_card_visa"))
	_, other := f.settleCharge(t, cardCharge(t, 8, "pm_card_visa"))
	if _, err := f.gateway.Refund(t.Context(), refundOf(t, externalID, "5.00")); err != nil {
		t.Fatal(err)
	}
	for _, charge := range []string{externalID, other} {
		if _, err := f.fake.RefundInDashboard(t.Context(), charge, 100, "pending"); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	for name, c := range map[string]struct {
		query cards.ReportQuery
		want  []string
	}{
		"of one charge": {cards.ReportQuery{Charge: externalID}, []string{"1.00 0 requested_by_customer ", "5.00 1  refund-8"}},
		"of a period":   {cards.ReportQuery{From: now.Add(-time.Hour), To: now.Add(time.Hour)}, []string{"1.00 0 requested_by_customer ", "1.00 0 requested_by_customer ", "5.00 1  refund-8"}},
		"of an older":   {cards.ReportQuery{From: now.Add(-2 * time.Hour), To: now.Add(-time.Hour)}, nil},
	} {
		reports, err := f.gateway.Reports(t.Context(), c.query)
		var got []string
		for _, r := range reports {
			got = append(got, fmt.Sprintf("%s %d %s %s", r.Result.Amount.Decimal(), r.Result.Outcome, r.Result.Note, r.Result.Refund))
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: err = %v, refunds (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestCharges_IncludeOldOnesThatWereRefundedSince(t *testing.T) {
	t.Parallel()
	f := newFixture(t, fakestripe.Config{})
	for id := range int64(3) {
		_, externalID := f.settleCharge(t, cardCharge(t, id, "pm_card_visa"))
		if id == 1 {
			continue
		}
		for refund := range int64(2) {
			if _, err := f.gateway.Refund(t.Context(), cardRefund(t, id, 10*id+refund, externalID, "5.00")); err != nil {
				t.Fatal(err)
			}
		}
	}
	conn, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), "UPDATE fakestripe.intent SET created = now() - interval '10 days' WHERE metadata::text NOT LIKE '%payment-2%'")
	if err != nil {
		t.Fatal(err)
	}

	listed, err := f.gateway.Charges(t.Context(), time.Now().Add(-time.Hour))

	var got []string
	for _, c := range listed {
		got = append(got, c.Payment+" "+c.Refunded.Decimal())
	}
	if diff := cmp.Diff([]string{"payment-2 10.00", "payment-0 10.00"}, got); err != nil || diff != "" {
		t.Errorf("err = %v, charges and what was refunded (-want +got):\n%s", err, diff)
	}
}

func TestGateway_ReadsAllPagesOfAList(t *testing.T) {
	t.Parallel()
	const moreThanAPage = 120
	f := newFixture(t, fakestripe.Config{})
	want := refunds{}
	var externalID string
	for id := range int64(moreThanAPage) {
		result, err := f.gateway.Charge(t.Context(), cardCharge(t, id+1, "pm_card_visa"))
		if err != nil {
			t.Fatal(err)
		}
		want[result.Payment], externalID = "0.00", result.ExternalID
	}
	refund := func(id int64, retry bool) (cards.ChargeResult, error) {
		r := cardRefund(t, moreThanAPage, id, externalID, "1.00")
		r.Retry = retry
		return f.gateway.Refund(t.Context(), r)
	}
	for id := range int64(moreThanAPage) {
		if _, err := refund(id+1, false); err != nil {
			t.Fatal(err)
		}
	}
	f.expireKeys(t)
	if result, err := refund(1, true); err != nil || result.Outcome != cards.ChargeSucceeded {
		t.Errorf("retry of the first refund: %+v, err = %v", result, err)
	}
	want[fmt.Sprintf("payment-%d", moreThanAPage)] = "120.00"
	f.wantCharges(t, want)
}
