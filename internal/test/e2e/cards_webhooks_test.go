package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/dev/fakestripe"
)

// mute is a replica that takes cards and is never answered: no job runs here.
var mute = []string{
	"ORDERS_STRIPE_KEY=" + providerKey, "ORDERS_STRIPE_WEBHOOK_SECRET=" + webhookSecret, "ORDERS_STRIPE_URL=http://127.0.0.1:1",
}

// tale is a message of the provider before it is written for one payment.
type tale struct {
	id, kind string
	status   string // of a refund
}

// payload writes a tale about a payment or its refund. Ids of events are per payment.
func (e tale) payload(paymentID, orderID, refundID int) string {
	metadata := fmt.Sprintf(`{"payment_id": "%d", "order_id": "%d"}`, paymentID, orderID)
	object := fmt.Sprintf(`{"id": "pi_%d", "status": "whatever", "metadata": %s, "last_payment_error": {"code": "card_declined"}}`, paymentID, metadata)
	if e.status != "" {
		object = fmt.Sprintf(`{"id": "re_%d", "status": %q, "metadata": {"payment_id": "%d", "refund_id": "%d"}}`, refundID, e.status, paymentID, refundID)
	}
	return fmt.Sprintf(`{"id": "evt_%d_%s", "type": %q, "data": {"object": %s}}`, paymentID, e.id, e.kind, object)
}

func webhookCall(payload, signature string) call {
	return call{method: "POST", path: "/webhooks/stripe", body: payload, header: http.Header{"Stripe-Signature": {signature}}}
}

// tell sends a message as the provider does.
func (s *service) tell(payload string) {
	s.Helper()
	want[struct{}](s, http.StatusOK, webhookCall(payload, fakestripe.Sign(webhookSecret, []byte(payload), time.Now())))
}

// permutations gives all orders of the tales; those of equal ones once.
func permutations(of []tale) [][]tale {
	if len(of) == 0 {
		return [][]tale{nil}
	}
	var all [][]tale
	for i, first := range of {
		if slices.Index(of, first) < i {
			continue
		}
		for _, rest := range permutations(slices.Concat(of[:i], of[i+1:])) {
			all = append(all, append([]tale{first}, rest...))
		}
	}
	return all
}

// ended is all that messages about a card payment can change.
type ended struct {
	Order, Payment, Failure, Refund string
	External                        bool
	OnHand, Reserved                int
	Entries                         int
	// Kept is the money that the provider's account says the seller has.
	Kept   string
	Events []string
}

// ending reads where an order for one product of its own has come to.
func (s *service) ending(o orderBody, sku string) ended {
	s.Helper()
	rows, _ := s.db.Query(s.Context(), `
		SELECT o.status, p.status, coalesce(p.failure, ''), coalesce(r.status, ''), coalesce(p.external_payment_id = 'pi_' || p.id, false),
		       i.on_hand, i.reserved, (SELECT count(*)::int FROM ledger_entry m WHERE m.payment_id = p.id),
		       (SELECT coalesce(sum(CASE 'provider' WHEN m.debit THEN m.amount WHEN m.credit THEN -m.amount END), 0)::numeric(9,2)::text
		        FROM ledger_entry m WHERE m.payment_id = p.id),
		       ARRAY(SELECT type FROM outbox WHERE aggregate IN ('order/' || o.id, 'payment/' || p.id) ORDER BY type)
		FROM orders o JOIN payment p ON p.order_id = o.id LEFT JOIN refund r ON r.payment_id = p.id, product i
		WHERE o.id = $1 AND i.sku = $2`, o.ID, sku)
	e, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[ended])
	if err != nil {
		s.Fatal(err)
	}
	return e
}

var (
	created    = tale{id: "created", kind: "payment_intent.created"}
	processing = tale{id: "processing", kind: "payment_intent.processing"}
	succeeded  = tale{id: "succeeded", kind: "payment_intent.succeeded"}
	toldAnew   = tale{id: "succeeded_2", kind: "payment_intent.succeeded"}
	declined   = tale{id: "failed", kind: "payment_intent.payment_failed"}
	canceled   = tale{id: "canceled", kind: "payment_intent.canceled"}
	refundMade = tale{id: "refund_created", kind: "refund.created", status: "pending"}
	refundDone = tale{id: "refund_updated", kind: "refund.updated", status: "succeeded"}
	refundFell = tale{id: "refund_failed", kind: "refund.failed", status: "failed"}
	refundOld  = tale{id: "refund_old", kind: "charge.refund.updated", status: "failed"}
)

func TestWebhooksEndInTheSameStateInAnyOrder(t *testing.T) {
	t.Parallel()
	asked := []string{"order.created", "order.payment_processing", "payment.processing"}
	events := func(more ...string) []string { return slices.Sorted(slices.Values(slices.Concat(asked, more))) }
	paid := events("order.paid", "payment.captured")
	captured := ended{Order: "paid", Payment: "captured", External: true, OnHand: 3, Entries: 1, Kept: "200.00", Events: paid}
	refunded := func(status string, entries int, kept string, more ...string) ended {
		e := captured
		e.Refund, e.Entries, e.Kept = status, entries, kept
		e.Events = slices.Concat(paid, slices.Sorted(slices.Values(append(more, "refund.pending"))))
		return e
	}
	tests := map[string]struct {
		refunded bool // our own answers came first, and a refund was asked for
		tales    []tale
		want     ended
		// told is the same state, when what came back had been told before; it left traces.
		told *ended
	}{
		"a capture":                    {tales: []tale{created, processing, succeeded, succeeded, toldAnew}, want: captured},
		"a capture after a failed try": {tales: []tale{created, declined, declined, succeeded, processing}, want: captured},
		"a failed try that may have another": {
			tales: []tale{created, processing, processing, declined, declined},
			want:  ended{Order: "payment_processing", Payment: "processing", OnHand: 5, Reserved: 2, Kept: "0.00", Events: asked},
		},
		"a refusal": {
			tales: []tale{created, processing, declined, canceled, canceled},
			want: ended{
				Order: "pending_payment", Payment: "failed", Failure: "card_declined", External: true, OnHand: 5, Reserved: 2, Kept: "0.00",
				Events: events("order.payment_failed", "payment.failed"),
			},
		},
		"a late failed try of what is captured, and a refund": {
			refunded: true,
			tales:    []tale{succeeded, succeeded, processing, declined, refundDone},
			want:     refunded("succeeded", 2, "150.00", "refund.succeeded"),
		},
		"a late refusal of what is captured, and a refund": {
			refunded: true,
			tales:    []tale{succeeded, processing, declined, canceled, refundDone},
			want:     refunded("succeeded", 2, "150.00", "refund.succeeded"),
		},
		"a refund that failed": {
			refunded: true,
			tales:    []tale{declined, refundMade, refundFell, refundFell, refundOld},
			want:     refunded("failed", 1, "200.00", "refund.failed"),
		},
		"a refund that was made and came back": {
			refunded: true,
			tales:    []tale{refundMade, refundDone, refundDone, refundFell, refundOld},
			want:     refunded("failed", 1, "200.00", "refund.failed"),
			told:     new(refunded("failed", 3, "200.00", "refund.failed", "refund.succeeded")),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil, mute...)
			for i, tales := range permutations(test.tales) {
				sku := fmt.Sprintf("tea-%d", i)
				s.putProduct(sku, 5)
				o := s.order(alice, sku, 2)
				p := s.payByCard(o.ID, "pm_card_visa")
				var r refundBody
				if test.refunded {
					s.tell(tale{id: "first", kind: "payment_intent.succeeded"}.payload(p.ID, o.ID, 0))
					r = want[refundBody](s, http.StatusOK, s.refundCall(s.asAdmin(), o.ID, "50.00"))
				}
				for _, e := range tales {
					s.tell(e.payload(p.ID, o.ID, r.ID))
				}
				wanted := test.want
				if test.told != nil && firstRefundTale(tales) == refundDone {
					wanted = *test.told
				}
				if diff := cmp.Diff(wanted, s.ending(o, sku)); diff != "" {
					t.Errorf("%v (-want +got):\n%s", tales, diff)
				}
			}
		})
	}
}

// firstRefundTale gives the first message that decides a refund.
func firstRefundTale(tales []tale) tale {
	i := slices.IndexFunc(tales, func(e tale) bool { return e.status == "succeeded" || e.status == "failed" })
	return tales[i]
}

func TestAWebhookThatNobodySignedChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 5}, mute...)
	o := s.order(alice, "tea", 2)
	p := s.payByCard(o.ID, "pm_card_visa")
	payload := succeeded.payload(p.ID, o.ID, 0)
	signed := func(secret string, at time.Time) string { return fakestripe.Sign(secret, []byte(payload), at) }
	before := s.ending(o, "tea")
	for name, c := range map[string]call{
		"another secret":   webhookCall(payload, signed("whsec_another", time.Now())),
		"no secret":        webhookCall(payload, signed("", time.Now())),
		"six minutes old":  webhookCall(payload, signed(webhookSecret, time.Now().Add(-6*time.Minute))),
		"of another body":  webhookCall(payload+" ", signed(webhookSecret, time.Now())),
		"not a signature":  webhookCall(payload, "t=1,v1=00"),
		"a changed amount": webhookCall(declined.payload(p.ID, o.ID, 0), signed(webhookSecret, time.Now())),
	} {
		s.wantProblem(http.StatusBadRequest, "malformed_request", c)
		if diff := cmp.Diff(before, s.ending(o, "tea")); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
	if n := s.count(`SELECT count(*) FROM processed_message`); n != 0 {
		t.Errorf("%d messages are noted, want none", n)
	}
	s.tell(payload) // and the same with a signature does
	if got := s.readOrder(o.ID).Status; got != string(order.Paid) {
		t.Errorf("the order is %s, want paid", got)
	}
}

// The provider's own answer is held back until its webhook has been taken.
func TestAWebhookMayComeBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]struct{ byWebhook, byAnswer string }{
		"pm_card_visa":     {"captured", "captured"},
		"pm_twice":         {"captured", "captured"},
		"pm_card_declined": {"processing", "failed"}, // of another try the webhook knows nothing
	} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			c := newCardShop(t, shelf{"tea": 5})
			answered, answer := latch() // more than once: a slow process asks again
			release := make(chan struct{})
			c.provider.setGate(func(w http.ResponseWriter, r *http.Request, provider http.Handler) {
				kept := httptest.NewRecorder()
				provider.ServeHTTP(kept, r)
				answer()
				await(t, release)
				w.WriteHeader(kept.Code)
				_, _ = w.Write(kept.Body.Bytes())
			})
			o := c.order(alice, "tea", 2)
			p := c.payByCard(o.ID, token)
			c.work()
			receive(t, answered, "the provider is asked")
			c.provider.SendTo(c.url + "/webhooks/stripe")
			if err := c.provider.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := c.readPayments(o.ID)[0].Status; got != want.byWebhook {
				t.Errorf("by its webhook the payment is %s, want %s", got, want.byWebhook)
			}
			close(release)
			eventually(t, "the job is done", func() bool {
				return c.count(`SELECT count(*) FROM river.river_job WHERE kind = 'settle_payment' AND state = 'completed'`) == 1
			})
			if got := c.decided(p).Status; got != want.byAnswer {
				t.Errorf("after our own answer the payment is %s, want %s", got, want.byAnswer)
			}
			c.sameBooks()
		})
	}
}

// While the provider is asked nothing of the service waits for it: more calls are open
// than the jobs have connections, no transaction is older than they are, and no row is
// locked.
func TestNothingIsHeldWhileTheProviderIsAsked(t *testing.T) {
	t.Parallel()
	const calls = 8 // more than the jobs have connections
	c := newCardShop(t, shelf{"tea": 100})
	allOpen, tellAllOpen := latch()
	release := make(chan struct{})
	var underWay atomic.Int64
	c.provider.setGate(func(w http.ResponseWriter, r *http.Request, provider http.Handler) {
		defer underWay.Add(-1)
		if underWay.Add(1) == calls {
			tellAllOpen()
		}
		await(t, release)
		provider.ServeHTTP(w, r)
	})
	var payments []cardPayment
	for range calls {
		payments = append(payments, c.payByCard(c.order(alice, "tea", 2).ID, "pm_card_visa"))
	}
	c.work()
	receive(t, allOpen, "as many calls are open as may be")
	var open time.Time
	if err := c.db.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&open); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no transaction is older than the calls", func() bool {
		return c.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start <= $1`, open) == 0
	})
	if n := c.count(`SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE d.datname = current_database() AND locktype = 'advisory'`); n != 0 {
		t.Errorf("%d advisory locks are held", n)
	}
	c.lockAll(t)

	// Others go on, with the same product and the same orders.
	other := c.boughtOrder(alice, "tea", 3)
	want[orderBody](c.service, http.StatusOK, c.cancelCall(c.asCustomer(), other.ID))
	c.order(alice, "tea", 1)
	told := payments[0]
	c.tell(fmt.Sprintf(`{"id": "evt_1", "type": "payment_intent.processing", "data": {"object": {"id": "pi_1", "metadata": {"payment_id": "%d"}}}}`, told.ID))
	for _, p := range payments {
		if got := c.readOrder(p.OrderID).Status; got != "payment_processing" {
			t.Errorf("while the provider is asked the order is %s", got)
		}
	}
	c.wantProblem(http.StatusConflict, "invalid_order_state", c.cancelCall(c.asCustomer(), told.OrderID))
	close(release)
	for _, p := range payments {
		if got := c.decided(p).Status; got != "captured" {
			t.Errorf("payment %d is %s, want captured", p.ID, got)
		}
	}
	c.sameBooks()
}

// lockAll takes the lock of every row that a payment touches, without waiting.
func (c cardShop) lockAll(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		for _, table := range []string{"orders", "order_item", "payment", "product"} {
			if _, err := tx.Exec(ctx, "SELECT FROM "+table+" FOR UPDATE NOWAIT"); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("a row is locked: %v", err)
	}
}
