package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/outbox"
)

// addEndpoint adds a webhook endpoint for events that are as old as an hour. The name is
// the end of the URL.
func (d *database) addEndpoint(t *testing.T, name, seller, patterns string) {
	t.Helper()
	d.insert(t, `INSERT INTO webhook_endpoint (owner, seller_id, url, event_types, description, ordered, secret, created_at, updated_at)
		VALUES ('owner', NULLIF($1, ''), 'https://example.com/' || $2, string_to_array($3, ' '), '', $2 LIKE 'ordered%', 'whsec_1',
		        now() - interval '1 hour', now())`, seller, name, patterns)
}

// addEvent adds an event that is so old.
func (d *database) addEvent(t *testing.T, eventType, aggregate, data, age string) {
	t.Helper()
	d.insert(t, `INSERT INTO outbox (type, aggregate, data, created_at) VALUES ($1, $2, $3::jsonb, now() - $4::interval)`,
		eventType, aggregate, data, age)
}

func (d *database) insert(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := d.plain.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// dispatch writes the deliveries of up to limit events, and returns their number.
func (d *database) dispatch(t *testing.T, limit int) int {
	t.Helper()
	events, err := d.Deliveries().Dispatch(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// delivered returns "endpoint aggregate type" of all deliveries, sorted.
func (d *database) delivered(t *testing.T) []string {
	t.Helper()
	rows, _ := d.plain.Query(t.Context(), `SELECT concat_ws(' ', substr(e.url, 21), w.aggregate, w.event_type)
		FROM webhook_delivery w JOIN webhook_endpoint e ON e.id = w.endpoint_id`) // CollectRows returns the error
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func TestDeliveries_AreWrittenForWhoWantsTheEvent(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.addEndpoint(t, "all", "", "*")
	d.addEndpoint(t, "paid", "", "order.paid payment.captured")
	d.addEndpoint(t, "shop", "shop", "order.* payment.* balance.*")
	d.addEndpoint(t, "other", "other", "*")
	d.addEndpoint(t, "none", "nobody", "*")
	d.execute(t, `INSERT INTO orders (customer_id, seller_id, status, total, currency, version, created_by, idempotency_key, created_at, updated_at)
		VALUES ('ann', 'other', 'paid', 1, 'RUB', 1, 'ann', 'key', now(), now())`)
	d.addEvent(t, "order.paid", "order/7", `{"order_id": 7, "seller_id": "shop"}`, "1 minute")
	d.addEvent(t, "order.created", "order/7", `{"order_id": 7, "seller_id": "shop"}`, "59 minutes")
	d.addEvent(t, "payment.captured", "payment/1", `{"payment_id": 1, "order_id": 1}`, "1 minute")
	d.addEvent(t, "balance.credited", "customer/ann", `{"customer_id": "ann"}`, "1 minute")
	d.addEvent(t, "order.paid", "order/6", `{"order_id": 6, "seller_id": "shop"}`, "61 minutes") // before the endpoints

	if got := []int{d.dispatch(t, 3), d.dispatch(t, 100), d.dispatch(t, 100)}; !slices.Equal(got, []int{3, 2, 0}) {
		t.Errorf("%d events at a time, want 3, 2 and none", got)
	}
	d.execute(t, "UPDATE outbox SET dispatched_at = NULL") // as a replica that read them earlier
	d.dispatch(t, 100)

	want := []string{
		"all customer/ann balance.credited", "all order/7 order.created", "all order/7 order.paid", "all payment/1 payment.captured",
		"other payment/1 payment.captured", "paid order/7 order.paid", "paid payment/1 payment.captured",
		"shop order/7 order.created", "shop order/7 order.paid",
	}
	if diff := cmp.Diff(want, d.delivered(t)); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	attempts, err := d.Deliveries().Claim(t.Context(), 1, 8, time.Minute)
	if err != nil || len(attempts) != 4 {
		t.Fatalf("claimed %d, err = %v", len(attempts), err)
	}
	events, err := d.Outbox().Unpublished(t.Context(), 100)
	for _, a := range attempts {
		i := slices.IndexFunc(events, func(e outbox.Event) bool { return e.ID == a.EventID })
		if body, err := events[i].CloudEvent(); err != nil || a.Body != string(body) {
			t.Errorf("the body is %s, want what the broker gets: %s, %v", a.Body, body, err)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func TestDeliveries_CostNothingWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.addEvents(t, 3)
	if n := d.dispatch(t, 100); n > 0 {
		t.Errorf("%d events are read", n)
	}
	d.addEndpoint(t, "all", "", "*")
	if n := d.dispatch(t, 2); n != 2 {
		t.Errorf("%d events are read, want 2", n)
	}
}

// An event may wait for the broker, or for its deliveries, longer than for the other.
func TestOutboxDeletePublished_KeepsEventsWithoutDeliveries(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.addEvent(t, "order.paid", "order/1", "{}", "2 hours") // before the endpoint
	d.addEvent(t, "order.paid", "order/2", "{}", "1 minute")
	d.publish(t, 2)
	d.addEndpoint(t, "all", "", "*")
	for _, want := range []int{1, 0} {
		if got, err := d.Outbox().DeletePublished(t.Context(), 0, 100); err != nil || got != want {
			t.Errorf("deleted %d, err = %v; want %d", got, err, want)
		}
	}
	d.dispatch(t, 100)
	if got, err := d.Outbox().DeletePublished(t.Context(), 0, 100); err != nil || got != 1 {
		t.Errorf("deleted %d, err = %v; want the one that is delivered", got, err)
	}
}

func TestClaim_KeepsTheOrderOfAnAggregate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ordered", "any"} {
		d := newDatabase(t)
		d.addEndpoint(t, name, "", "*")
		for n := range 3 {
			for _, order := range []string{"order/1", "order/2"} {
				d.addEvent(t, fmt.Sprintf("order.n%d", n), order, "{}", "1 minute")
			}
		}
		d.dispatch(t, 100)
		var claimed [][]string
		for range 4 {
			attempts, err := d.Deliveries().Claim(t.Context(), 1, 3, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var types []string
			for _, a := range attempts {
				var e struct{ Subject, Type string }
				if err := json.Unmarshal([]byte(a.Body), &e); err != nil {
					t.Fatal(err)
				}
				types = append(types, e.Type+" "+e.Subject)
			}
			slices.Sort(types)
			claimed = append(claimed, types)
			d.execute(t, `UPDATE webhook_delivery SET status = 'failed', next_attempt_at = NULL, finished_at = now() WHERE attempts > 0`)
		}
		want := map[string][][]string{
			"ordered": {{"order.n0 order/1", "order.n0 order/2"}, {"order.n1 order/1", "order.n1 order/2"}, {"order.n2 order/1", "order.n2 order/2"}, nil},
			"any":     {{"order.n0 order/1", "order.n0 order/2", "order.n1 order/1"}, {"order.n1 order/2", "order.n2 order/1", "order.n2 order/2"}, nil, nil},
		}
		if diff := cmp.Diff(want[name], claimed); diff != "" {
			t.Errorf("%s: claimed (-want +got):\n%s", name, diff)
		}
	}
}

func TestClaim_HandsOutEachDueDeliveryOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.addEndpoint(t, "ordered", "", "*")
	d.addEvent(t, "order.paid", "order/1", "{}", "1 minute")
	d.dispatch(t, 100)
	wantClaim := func(want ...webhook.Attempt) {
		t.Helper()
		due, dueErr := d.Deliveries().EndpointsDue(t.Context(), 10)
		got, err := d.Deliveries().Claim(t.Context(), 1, 8, time.Minute)
		for i := range got {
			got[i].Body, got[i].EventID = "", ""
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil || dueErr != nil || len(due) != min(1, len(want)) {
			t.Errorf("%v due, claimed (-want +got), %v, %v:\n%s", due, err, dueErr, diff)
		}
	}
	at := func(number int, secrets ...string) webhook.Attempt {
		return webhook.Attempt{DeliveryID: 1, Number: number, URL: "https://example.com/ordered", Secrets: secrets}
	}

	wantClaim(at(1, "whsec_1"))
	wantClaim()
	d.execute(t, `UPDATE webhook_delivery SET next_attempt_at = now() + interval '1 hour'`)
	wantClaim()
	d.execute(t, `UPDATE webhook_delivery SET next_attempt_at = now(); UPDATE webhook_endpoint SET disabled_at = now(), disabled_reason = 'x'`)
	wantClaim()
	d.execute(t, `UPDATE webhook_endpoint SET disabled_at = NULL, disabled_reason = NULL, secret = 'whsec_2', previous_secret = secret,
		previous_until = now() + interval '1 hour'`)
	wantClaim(at(2, "whsec_2", "whsec_1"))
	d.execute(t, `UPDATE webhook_delivery SET next_attempt_at = now(); UPDATE webhook_endpoint SET previous_until = now()`)
	wantClaim(at(3, "whsec_2"))
	d.execute(t, `DELETE FROM webhook_endpoint`)
	wantClaim()
}

func TestDeleteOld_DeletesDeliveriesOfOldEvents(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.addEndpoint(t, "all", "", "*")
	d.execute(t, `UPDATE webhook_endpoint SET created_at = now() - interval '30 days'`)
	for i := range 5 {
		d.addEvent(t, "order.paid", fmt.Sprint("order/", i), "{}", fmt.Sprint(9-i, " days"))
	}
	d.dispatch(t, 100)
	for _, want := range []int{2, 1, 0} { // three are old enough, two go at a time
		if got, err := d.Deliveries().DeleteOld(t.Context(), 7*24*time.Hour-time.Hour, 2); err != nil || got != want {
			t.Errorf("deleted %d, err = %v; want %d", got, err, want)
		}
	}
	if diff := cmp.Diff([]string{"all order/3 order.paid", "all order/4 order.paid"}, d.delivered(t)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// newOrderedDeliveries returns a database with 100 deliveries about one order to an endpoint
// that is ordered.
func newOrderedDeliveries(t *testing.T) *database {
	t.Helper()
	d := newDatabase(t)
	d.addEndpoint(t, "ordered", "", "*")
	for range 100 {
		d.addEvent(t, "order.paid", "order/1", "{}", "1 minute")
	}
	d.dispatch(t, 100)
	return d
}

// Deliveries behind one that failed are not looked at before it is due again, or has ended.
func TestClaim_LeavesDeliveriesBehindAFailedOne(t *testing.T) {
	t.Parallel()
	d := newOrderedDeliveries(t)
	d.execute(t, `UPDATE webhook_delivery SET attempts = 1, next_attempt_at = now() + interval '1 hour' WHERE id = 1`)
	claim := func() (claimed []int64) {
		t.Helper()
		attempts, err := d.Deliveries().Claim(t.Context(), 1, 8, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range attempts {
			claimed = append(claimed, a.DeliveryID)
		}
		return claimed
	}
	for range 2 { // each looks at 64
		if got := claim(); len(got) > 0 {
			t.Errorf("claimed %v behind the first one", got)
		}
	}
	if due, err := d.Deliveries().EndpointsDue(t.Context(), 10); err != nil || len(due) > 0 {
		t.Errorf("due: %v, err = %v; want none", due, err)
	}

	err := d.Webhooks().InTx(t.Context(), func(ctx context.Context, tx webhook.Tx) error {
		return tx.Deliveries.Record(ctx, &webhook.Delivery{ID: 1, Attempts: 1, Status: webhook.Delivered, FinishedAt: tx.Now})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := claim(); !slices.Equal(got, []int64{2}) {
		t.Errorf("claimed %v after the first one, want the second one", got)
	}
}

// The first one failed, and is due again: those that follow it have been due for longer.
func TestClaim_FindsTheFirstBehindThoseThatFollow(t *testing.T) {
	t.Parallel()
	d := newOrderedDeliveries(t)
	d.execute(t, `UPDATE webhook_delivery SET next_attempt_at = now() - CASE id WHEN 1 THEN interval '1 second' ELSE interval '1 hour' END`)
	var claimed []webhook.Attempt
	for range 2 { // each looks at 64
		attempts, err := d.Deliveries().Claim(t.Context(), 1, 8, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		claimed = append(claimed, attempts...)
	}
	if len(claimed) != 1 || claimed[0].DeliveryID != 1 {
		t.Errorf("claimed %v, want the first one", claimed)
	}
}
