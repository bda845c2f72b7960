// Package webhooks_test tests the events of the card provider: in any order, repeated, and
// not signed.
package webhooks_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
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

// refundFailures are the reasons in refunds of a status.
var refundFailures = map[string]string{"failed": "lost_or_stolen_card"}

// payload writes the event for a payment of 200.00, or its refund of 50.00. IDs of
// events are per payment.
func (e providerEvent) payload(t testing.TB, s *e2e.Service, p e2e.Payment, refundID int) string {
	t.Helper()
	object := fmt.Sprintf(`{"id": "pi_%d", "status": "whatever", "amount": 20000, "currency": "rub", "amount_received": 20000, `+
		`"metadata": {"orders_payment": %q, "order_id": "%d"}, "last_payment_error": {"code": "card_declined"}}`,
		p.ID, s.PaymentKey(t, p.ID), p.OrderID)
	if e.refundStatus != "" {
		object = fmt.Sprintf(`{"id": "re_%d", "status": %q, "failure_reason": %q, "amount": 5000, "currency": "rub", `+
			`"metadata": {"orders_payment": %q, "orders_refund": %q, "order_id": "%d"}}`,
			refundID, e.refundStatus, refundFailures[e.refundStatus], s.PaymentKey(t, p.ID), s.RefundKey(t, refundID), p.OrderID)
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
	Order, Payment, Failure, Refund, RefundFailure string
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
		SELECT o.status, p.status, coalesce(p.failure, ''), coalesce(r.status, ''), coalesce(r.failure, ''),
		       coalesce(p.external_payment_id = 'pi_' || p.id, false),
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
	Order: "pending_payment", Payment: "failed", Failure: "generic_decline", External: true,
	OnHand: 5, Reserved: 2, Received: "0.00", Events: eventTypes("order.payment_failed", "payment.failed"),
}

// refundedState is the state of a captured payment after a refund of 50.00.
func refundedState(status string, entries int, received string, events ...string) cardState {
	state := capturedState
	state.Refund, state.RefundFailure, state.Entries, state.Received = status, refundFailures[status], entries, received
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

// startLoggedShop starts a shop that accepts cards, and returns its log.
func startLoggedShop(t *testing.T) (*e2e.Service, *testlog.Buffer) {
	t.Helper()
	log := &testlog.Buffer{}
	s := e2e.NewEnv(t).StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.New(log) },
		e2e.CardSettings(e2e.SilentProvider)...)
	s.StockUp(t, e2e.Stock{"tea": 100})
	return s, log
}

// countErrors counts the lines of a log at the level of errors.
func countErrors(log *testlog.Buffer) int { return strings.Count(log.String(), `"level":"error"`) }

// wantRejected sends an event that must be acknowledged, logged as an error, and change
// nothing about a payment.
func wantRejected(t *testing.T, s *e2e.Service, log *testlog.Buffer, p e2e.Payment, name, payload string) {
	t.Helper()
	before, logged := readCardState(t, s, p.OrderID, "tea"), countErrors(log)
	s.SendWebhook(t, payload)
	if diff := cmp.Diff(before, readCardState(t, s, p.OrderID, "tea")); diff != "" {
		t.Errorf("%s (-before +after):\n%s", name, diff)
	}
	if countErrors(log) != logged+1 {
		t.Errorf("%s: %d errors in the log, want one more than %d", name, countErrors(log), logged)
	}
}

// Signed events about another amount, currency or order than the payment's. The job
// that asks the provider decides.
func TestWebhook_ThatDiffersFromThePaymentIsNotApplied(t *testing.T) {
	t.Parallel()
	s, log := startLoggedShop(t)
	p := s.MustPayByCard(t, s.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	payload := succeeded.payload(t, s, p, 0)
	for name, differs := range map[string]*strings.Replacer{
		"1.00 USD":      strings.NewReplacer(`20000, "currency": "rub"`, `100, "currency": "usd"`),
		"1.00 RUB":      strings.NewReplacer(`"amount": 20000`, `"amount": 100`),
		"1.00 received": strings.NewReplacer(`"amount_received": 20000`, `"amount_received": 100`),
		"another order": strings.NewReplacer(fmt.Sprintf(`"order_id": "%d"`, p.OrderID), `"order_id": "4711"`),
	} {
		s.Exec(t, `DELETE FROM river.river_job`) // a live job would ask anyway
		different := strings.NewReplacer(fmt.Sprintf("evt_%d_succeeded", p.ID), "evt_"+s.NewKey()).Replace(differs.Replace(payload))
		wantRejected(t, s, log, p, name, different)
		if n := s.Count(t, `SELECT count(*) FROM river.river_job WHERE kind = 'settle_payment'`); n != 1 {
			t.Errorf("%s: %d jobs ask the provider, want 1", name, n)
		}
		s.Exec(t, `DELETE FROM river.river_job`)
		s.SendWebhook(t, different) // it is recorded, so the second time it is not read
		if n := s.Count(t, `SELECT count(*) FROM river.river_job WHERE kind = 'settle_payment'`); n != 0 {
			t.Errorf("%s, sent twice: %d jobs, want none", name, n)
		}
	}
	s.SendWebhook(t, payload)
	s.WantOrderStatus(t, p.OrderID, "paid")
}

func TestWebhook_ThatDiffersFromTheRefundIsNotApplied(t *testing.T) {
	t.Parallel()
	s, log := startLoggedShop(t)
	p := s.MustPayByCard(t, s.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	s.SendWebhook(t, succeeded.payload(t, s, p, 0))
	r := e2e.Want[e2e.Refund](t, s, 200, s.RefundCall(s.AdminToken(t), p.OrderID, "50.00"))
	payload := refundSucceeded.payload(t, s, p, r.ID)
	wantRejected(t, s, log, p, "1.00 RUB", strings.NewReplacer("5000", "100", "evt_", "evt_1").Replace(payload))
	wantRejected(t, s, log, p, "another payment",
		strings.NewReplacer(s.PaymentKey(t, p.ID), s.RefundKey(t, r.ID), "evt_", "evt_2").Replace(payload))
	s.SendWebhook(t, payload)
	if got := readCardState(t, s, p.OrderID, "tea").Refund; got != "succeeded" {
		t.Errorf("the refund is %s, want succeeded", got)
	}
}

// The provider sends an event until it is acknowledged, so those that can never be
// taken are.
func TestWebhook_ThatNobodyCanTakeIsAcknowledged(t *testing.T) {
	t.Parallel()
	s, log := startLoggedShop(t)
	other := s.MustPayByCard(t, s.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	s.SendWebhook(t, succeeded.payload(t, s, other, 0))
	p := s.MustPayByCard(t, s.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	payload := succeeded.payload(t, s, p, 0)
	event, charge := fmt.Sprintf("evt_%d", p.ID), fmt.Sprintf(`"pi_%d"`, p.ID)
	for name, broken := range map[string]string{
		"NUL in the id of the event":     strings.ReplaceAll(payload, event, `evt_\u0000`),
		"long id of the event":           strings.ReplaceAll(payload, event, "evt_"+strings.Repeat("x", 5000)),
		"NUL in the id of the charge":    strings.NewReplacer(charge, `"pi_\u0000"`, event, "evt_a").Replace(payload),
		"long id of the charge":          strings.NewReplacer(charge, `"pi_`+strings.Repeat("x", 5000)+`"`, event, "evt_b").Replace(payload),
		"the charge of another payment":  strings.NewReplacer(charge, fmt.Sprintf(`"pi_%d"`, other.ID), event, "evt_c").Replace(payload),
		"a currency that does not exist": strings.NewReplacer(`"rub"`, `"roubles"`, event, "evt_d").Replace(payload),
		"no event":                       `{"type": "payment_intent.succeeded"}`,
	} {
		wantRejected(t, s, log, p, name, broken)
	}
	s.SendWebhook(t, payload)
	s.WantOrderStatus(t, p.OrderID, "paid")
}

// The dashboard sends an event again, at any time. The inbox forgets.
func TestWebhook_AsOldAsAForgottenOneIsNotApplied(t *testing.T) {
	t.Parallel()
	s, log := startLoggedShop(t)
	pay := func() e2e.Payment {
		return s.MustPayByCard(t, s.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	}
	sent := func(at time.Time, payload string) string {
		return strings.Replace(payload, `{"id"`, fmt.Sprintf(`{"created": %d, "id"`, at.Unix()), 1)
	}
	now := time.Now()
	s.SendWebhook(t, sent(now.Add(-time.Hour), succeeded.payload(t, s, pay(), 0)))
	s.Exec(t, `UPDATE processed_message SET processed_at = processed_at - interval '31 days'`)
	if n, err := s.OpenStore(t).DeleteOldMessages(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("%d messages deleted: %v", n, err)
	}
	waiting := pay()

	wantRejected(t, s, log, waiting, "an old event", sent(now.Add(-time.Hour), succeeded.payload(t, s, waiting, 0)))
	wantRejected(t, s, log, waiting, "an event of next week", sent(now.AddDate(0, 0, 7), succeeded.payload(t, s, waiting, 0)))

	s.SendWebhook(t, sent(now.Add(time.Minute), succeeded.payload(t, s, waiting, 0)))
	s.WantOrderStatus(t, waiting.OrderID, "paid")
}

// Anybody can send a webhook, so only the log says what is wrong with its signature.
func TestWebhook_ThatIsUnsignedLogsWhy(t *testing.T) {
	t.Parallel()
	s, log := startLoggedShop(t)
	for header, want := range map[string]string{
		"Bearer x": "malformed Stripe-Signature",
		fakestripe.Sign(e2e.WebhookSecret, []byte("{}"), time.Now().Add(-time.Hour)): "from this machine's clock",
		fakestripe.Sign("whsec_of_another", []byte("{}"), time.Now()):                "not signed with ORDERS_STRIPE_WEBHOOK_SECRET",
	} {
		before := len(log.Lines(t))
		response := s.Send(t, e2e.WebhookCall("{}", header))
		line := log.Lines(t)[before]
		reason, _ := line["reason"].(string)
		if response.Verdict() != "400 malformed_request" || line["level"] != "info" || !strings.Contains(reason, want) {
			t.Errorf("%s: %s, logged as %v; want the reason %q", header, response.Verdict(), line, want)
		}
		if strings.Contains(string(response.Body), want) {
			t.Errorf("the sender learns: %s", response.Body)
		}
	}
}

// The contract bounds the code, and every response is checked against the contract.
func TestWebhook_WithALongReasonFailsThePayment(t *testing.T) {
	t.Parallel()
	s, _ := startLoggedShop(t)
	p := s.MustPayByCard(t, s.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	payload := canceled.payload(t, s, p, 0)
	s.SendWebhook(t, strings.ReplaceAll(payload, "card_declined", "Declined! "+strings.Repeat("because ", 13)))
	if got := s.ReadPayments(t, p.OrderID)[0]; got.Status != "failed" || got.Reason() != "unknown_reason" {
		t.Errorf("the payment is %s because of %q, want failed because of unknown_reason", got.Status, got.Reason())
	}
}

// answer is what the provider answers when the service asks about a payment or its refund.
type answer struct {
	cards.Gateway
	outcome cards.ChargeOutcome
	refund  bool
}

var (
	captureAnswered = providerEvent{id: "capture_answered", answer: &answer{outcome: cards.ChargeSucceeded}}
	declineAnswered = providerEvent{id: "decline_answered", answer: &answer{outcome: cards.ChargeRefused}}
	refundAnswered  = providerEvent{id: "refund_answered", answer: &answer{outcome: cards.ChargeSucceeded, refund: true}}
	refusalAnswered = providerEvent{id: "refusal_answered", answer: &answer{outcome: cards.ChargeRefused, refund: true}}
)

// Reports implements [cards.Gateway].
func (*answer) Reports(context.Context, cards.ReportQuery) ([]cards.Report, error) { return nil, nil }

// AmountRefusal implements [cards.Gateway].
func (*answer) AmountRefusal(core.Money) string { return "" }

// Charge implements [cards.Gateway].
func (a *answer) Charge(_ context.Context, c cards.ChargeRequest) (cards.ChargeResult, error) {
	return a.result(c.Terms, fmt.Sprintf("pi_%d", c.PaymentID), "generic_decline"), nil
}

// Refund implements [cards.Gateway].
func (a *answer) Refund(_ context.Context, r cards.RefundRequest) (cards.ChargeResult, error) {
	return a.result(r.Terms, fmt.Sprintf("re_%d", r.RefundID), refundFailures["failed"]), nil
}

func (a *answer) result(terms cards.Terms, id, reason string) cards.ChargeResult {
	result := cards.ChargeResult{Terms: terms, Outcome: a.outcome, Received: terms.Amount, ExternalID: id}
	if a.outcome == cards.ChargeRefused {
		result.Reason = reason
	}
	return result
}

// apply lets the service ask the provider, as its job does.
func (a *answer) apply(t testing.TB, db *postgres.DB, p e2e.Payment, r e2e.Refund) {
	t.Helper()
	service := &payment.Service{Store: db.Payments(), Gateway: a}
	var err error
	if a.refund {
		err = service.SettleRefund(t.Context(), int64(r.ID))
	} else {
		err = service.SettlePayment(t.Context(), int64(p.ID))
	}
	if err != nil && !errors.Is(err, payment.ErrUndecided) {
		t.Errorf("the answer of the provider: %v", err)
	}
}

// Anybody may send to this route, so it reads a limited number of bytes before it knows
// who sent them.
func TestWebhook_HasALimitedSize(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, e2e.CardSettings(e2e.SilentProvider)...)
	s.WantProblem(t, http.StatusBadRequest, "malformed_request", e2e.WebhookCall(strings.Repeat(" ", 256<<10), "t=1,v1=00"))
	s.WantProblem(t, http.StatusRequestEntityTooLarge, "body_too_large", e2e.WebhookCall(strings.Repeat(" ", 256<<10+1), "t=1,v1=00"))
}

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
