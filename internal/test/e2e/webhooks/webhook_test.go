// Package webhooks_test tests the events of the card provider: in any order, repeated, and
// not signed.
package webhooks_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// providerEvent is an event of the provider, before it is written for one payment.
type providerEvent struct {
	id, kind     string
	refundStatus string // of an event about a refund
	// answer is set where the answer to a call of the service comes instead of an event.
	answer *answer
}

var (
	created        = providerEvent{id: "created", kind: "payment_intent.created"}
	processing     = providerEvent{id: "processing", kind: "payment_intent.processing"}
	succeeded      = providerEvent{id: "succeeded", kind: "payment_intent.succeeded"}
	succeededTwice = providerEvent{id: "succeeded_2", kind: "payment_intent.succeeded"}
	attemptFailed  = providerEvent{id: "failed", kind: "payment_intent.payment_failed"}
	canceled       = providerEvent{id: "canceled", kind: "payment_intent.canceled"}

	refundCreated   = providerEvent{id: "refund_created", kind: "refund.created", refundStatus: "pending"}
	refundSucceeded = providerEvent{id: "refund_updated", kind: "refund.updated", refundStatus: "succeeded"}
	refundFailed    = providerEvent{id: "refund_failed", kind: "refund.failed", refundStatus: "failed"}
	refundFailedOld = providerEvent{id: "refund_old", kind: "charge.refund.updated", refundStatus: "failed"}
)

// payload writes the event for a payment of 200.00, or its refund of 50.00. IDs of
// events are per payment.
func (e providerEvent) payload(t testing.TB, s *e2e.Service, p e2e.Payment, refundID int) string {
	t.Helper()
	object := fmt.Sprintf(`{"id": "pi_%d", "status": "whatever", "amount": 20000, "currency": "rub", "amount_received": 20000, `+
		`"metadata": {"orders_payment": %q, "order_id": "%d"}, "last_payment_error": {"code": "card_declined"}}`,
		p.ID, s.PaymentKey(t, p.ID), p.OrderID)
	if e.refundStatus != "" {
		object = fmt.Sprintf(`{"id": "re_%d", "status": %q, "amount": 5000, "currency": "rub", `+
			`"metadata": {"orders_payment": %q, "orders_refund": %q, "order_id": "%d"}}`,
			refundID, e.refundStatus, s.PaymentKey(t, p.ID), s.RefundKey(t, refundID), p.OrderID)
	}
	return fmt.Sprintf(`{"id": "evt_%d_%s", "type": %q, "data": {"object": %s}}`, p.ID, e.id, e.kind, object)
}

// permutations returns all orders of events. Orders that differ in equal events only
// are one.
func permutations(events []providerEvent) [][]providerEvent {
	if len(events) == 0 {
		return [][]providerEvent{nil}
	}
	var all [][]providerEvent
	for i, first := range events {
		if slices.Index(events, first) < i {
			continue
		}
		for _, others := range permutations(slices.Concat(events[:i], events[i+1:])) {
			all = append(all, append([]providerEvent{first}, others...))
		}
	}
	return all
}

// cardState is everything that provider events can change.
type cardState struct {
	Order, Payment, Failure, Refund string
	// External says that the payment has its reference at the provider.
	External         bool
	OnHand, Reserved int
	Entries          int // of the ledger
	// Received is what the seller received from the provider, by the ledger.
	Received string
	Events   []string
}

// readCardState reads the state of an order for one product.
func readCardState(t testing.TB, s *e2e.Service, orderID int, sku string) cardState {
	t.Helper()
	rows, _ := s.DB.Query(t.Context(), `
		SELECT o.status, p.status, coalesce(p.failure, ''), coalesce(r.status, ''), coalesce(p.external_payment_id = 'pi_' || p.id, false),
		       i.on_hand, i.reserved, (SELECT count(*)::int FROM ledger_entry m WHERE m.payment_id = p.id),
		       (SELECT coalesce(sum(CASE 'provider' WHEN m.debit THEN m.amount WHEN m.credit THEN -m.amount END), 0)::numeric(9,2)::text
		        FROM ledger_entry m WHERE m.payment_id = p.id),
		       ARRAY(SELECT type FROM outbox WHERE aggregate IN ('order/' || o.id, 'payment/' || p.id) ORDER BY type)
		FROM orders o JOIN payment p ON p.order_id = o.id LEFT JOIN refund r ON r.payment_id = p.id, product i
		WHERE o.id = $1 AND i.sku = $2`, orderID, sku)
	state, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[cardState])
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// webhookCase is provider events and the state to which they lead in any order.
type webhookCase struct {
	// refunded says that the payment was captured, and a refund asked for, before the
	// events.
	refunded bool
	events   []providerEvent
	want     cardState
	// wantSucceededFirst is the state when the success of the refund is reported before
	// its failure: a reversal leaves more entries and events.
	wantSucceededFirst *cardState
}

// eventTypes returns the types of the events of a card payment, sorted.
func eventTypes(more ...string) []string {
	begun := []string{"order.created", "order.payment_processing", "payment.processing"}
	return slices.Sorted(slices.Values(slices.Concat(begun, more)))
}

// capturedState is the state of a captured payment of 200.00.
var capturedState = cardState{
	Order: "paid", Payment: "captured", External: true, OnHand: 3, Entries: 1, Received: "200.00",
	Events: eventTypes("order.paid", "payment.captured"),
}

// declinedState is the state of a payment of 200.00 that failed.
var declinedState = cardState{
	Order: "pending_payment", Payment: "failed", Failure: "card_declined", External: true,
	OnHand: 5, Reserved: 2, Received: "0.00", Events: eventTypes("order.payment_failed", "payment.failed"),
}

// refundedState is the state of a captured payment after a refund of 50.00.
func refundedState(status string, entries int, received string, events ...string) cardState {
	state := capturedState
	state.Refund, state.Entries, state.Received = status, entries, received
	state.Events = slices.Concat(state.Events, slices.Sorted(slices.Values(append(events, "refund.pending"))))
	return state
}

var webhookCases = map[string]webhookCase{
	"captured after a failed attempt": {
		events: []providerEvent{attemptFailed, processing, succeeded, succeededTwice}, want: capturedState,
	},
	"failed attempt, another may follow": {
		events: []providerEvent{created, processing, attemptFailed, attemptFailed},
		want: cardState{
			Order: "payment_processing", Payment: "processing", OnHand: 5, Reserved: 2, Received: "0.00", Events: eventTypes(),
		},
	},
	"canceled": {events: []providerEvent{processing, attemptFailed, canceled, canceled}, want: declinedState},
	"refunded, with a late cancellation": {
		refunded: true, events: []providerEvent{succeeded, attemptFailed, canceled, refundSucceeded},
		want: refundedState("succeeded", 2, "150.00", "refund.succeeded"),
	},
	"captured, with our own answer": {
		events: []providerEvent{attemptFailed, succeeded, succeeded, captureAnswered}, want: capturedState,
	},
	"declined, with our own answer": {
		events: []providerEvent{attemptFailed, canceled, canceled, declineAnswered}, want: declinedState,
	},
	"refunded, with our own answer": {
		refunded: true, events: []providerEvent{refundCreated, refundSucceeded, refundSucceeded, refundAnswered},
		want: refundedState("succeeded", 2, "150.00", "refund.succeeded"),
	},
	"refund failed, with our own answer": {
		refunded: true, events: []providerEvent{refundCreated, refundFailed, refundFailedOld, refusalAnswered},
		want: refundedState("failed", 1, "200.00", "refund.failed"),
	},
	"refund succeeded and was reversed": {
		refunded: true, events: []providerEvent{refundSucceeded, refundSucceeded, refundFailed, refundFailedOld},
		want:               refundedState("failed", 1, "200.00", "refund.failed"),
		wantSucceededFirst: new(refundedState("failed", 3, "200.00", "refund.failed", "refund.succeeded")),
	},
}

func TestWebhooks_LeadToSameStateInAnyOrder(t *testing.T) {
	t.Parallel()
	for name, c := range webhookCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := append(e2e.CardSettings(e2e.SilentProvider), "ORDERS_UNPAID_ORDERS=0") // payments fail
			s := e2e.StartShop(t, nil, settings...)
			db := s.OpenStore(t)
			orders := permutations(c.events)
			for i, events := range orders {
				c.check(t, s, db, i, events)
			}
			t.Logf("%d orders of %d events", len(orders), len(c.events))
		})
	}
}

// check sends the events in one order, for a payment of a product of their own.
func (c webhookCase) check(t *testing.T, s *e2e.Service, db *postgres.DB, number int, events []providerEvent) {
	t.Helper()
	sku := fmt.Sprintf("tea-%d", number)
	s.PutProduct(t, sku, 5)
	o := s.MustCreateOrder(t, e2e.Alice, sku, 2)
	p := s.MustPayByCard(t, o.ID, "pm_card_visa")
	var r e2e.Refund
	if c.refunded {
		s.SendWebhook(t, providerEvent{id: "first", kind: "payment_intent.succeeded"}.payload(t, s, p, 0))
		r = e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(s.AdminToken(t), o.ID, "50.00"))
	}
	for _, e := range events {
		if e.answer != nil {
			e.answer.apply(t, db, p, r)
			continue
		}
		s.SendWebhook(t, e.payload(t, s, p, r.ID))
	}
	want := c.want
	if c.wantSucceededFirst != nil && firstRefundOutcome(events) == refundSucceeded {
		want = *c.wantSucceededFirst
	}
	if diff := cmp.Diff(want, readCardState(t, s, o.ID, sku)); diff != "" {
		t.Errorf("%v (-want +got):\n%s", events, diff)
	}
}

// firstRefundOutcome returns the first event that reports the outcome of a refund.
func firstRefundOutcome(events []providerEvent) providerEvent {
	i := slices.IndexFunc(events, func(e providerEvent) bool {
		return e.refundStatus == "succeeded" || e.refundStatus == "failed"
	})
	return events[i]
}

func TestWebhook_WithoutValidSignatureChangesNothing(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 5}, e2e.CardSettings(e2e.SilentProvider)...)
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 2)
	p := s.MustPayByCard(t, o.ID, "pm_card_visa")
	payload := succeeded.payload(t, s, p, 0)
	sign := func(secret string, at time.Time) string { return fakestripe.Sign(secret, []byte(payload), at) }
	before := readCardState(t, s, o.ID, "tea")
	for name, c := range map[string]e2e.Call{
		"another secret":  e2e.WebhookCall(payload, sign("whsec_another", time.Now())),
		"six minutes old": e2e.WebhookCall(payload, sign(e2e.WebhookSecret, time.Now().Add(-6*time.Minute))),
		"a changed body":  e2e.WebhookCall(payload+" ", sign(e2e.WebhookSecret, time.Now())),
	} {
		s.WantProblem(t, http.StatusBadRequest, "malformed_request", c)
		if diff := cmp.Diff(before, readCardState(t, s, o.ID, "tea")); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
	if n := s.Count(t, `SELECT count(*) FROM processed_message`); n != 0 {
		t.Errorf("%d provider events are recorded, want none", n)
	}
	s.SendWebhook(t, payload) // the same body with a valid signature is accepted
	s.WantOrderStatus(t, o.ID, "paid")
}
