// Package endpointstest is the test suite of the ports for webhook endpoints. PostgreSQL
// and the fake in memory pass the same suite.
package endpointstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
)

var cases = []struct {
	name string
	run  func(*testing.T, store)
}{
	{"an endpoint comes back as it was saved, and its secret does not", endpointRoundTrip},
	{"an endpoint changes", endpointChanges},
	{"an owner has one endpoint for a URL", oneEndpointOfAURL},
	{"endpoints are listed newest first, those of the seller or all", endpointPages},
	{"an endpoint is locked", endpointLock},
	{"an attempt is recorded, unless another has followed it", deliveryRecord},
	{"a delivery is due again", deliveryRetry},
	{"deliveries are listed newest first, those of a status or all", deliveryPages},
	{"deliveries are deleted with their endpoint", deliveriesOfDeletedEndpoint},
}

// Run runs the suite. open returns an empty database for each test.
func Run(t *testing.T, open func(t *testing.T) webhook.Store) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, store{open(t)})
		})
	}
}

type store struct{ webhook.Store }

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// minute returns a time of the tests, to the microsecond.
func minute(n int) time.Time {
	return time.Date(2026, time.March, 1, 12, n, 0, 123_456_000, time.UTC)
}

func (s store) inTx(t *testing.T, fn func(ctx context.Context, tx webhook.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// newEndpoint is an endpoint that has not been stored.
func newEndpoint(seller, url string) *webhook.Endpoint {
	return &webhook.Endpoint{
		Owner: "owner of " + seller, SellerID: seller, URL: url, EventTypes: []string{"order.*", "refund.failed"}, Description: "shop",
		Ordered: true, NewSecret: "whsec_1", CreatedAt: minute(1), UpdatedAt: minute(1),
	}
}

// endpoint saves an endpoint, and returns it as it is loaded later.
func (s store) endpoint(t *testing.T, e *webhook.Endpoint) *webhook.Endpoint {
	t.Helper()
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) error { return tx.Endpoints.Save(ctx, e) })
	stored := *e
	stored.NewSecret = ""
	return &stored
}

func (s store) wantEndpoint(t *testing.T, want *webhook.Endpoint) {
	t.Helper()
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) error {
		got, err := tx.Endpoints.Get(ctx, want.ID)
		equal(t, "endpoint", got, want)
		return err
	})
}

func endpointRoundTrip(t *testing.T, s store) {
	s.wantEndpoint(t, s.endpoint(t, newEndpoint("shop", "https://a.example")))
	s.wantEndpoint(t, s.endpoint(t, newEndpoint("", "https://a.example")))
}

func endpointChanges(t *testing.T, s store) {
	e := s.endpoint(t, newEndpoint("shop", "https://a.example"))
	e.URL, e.EventTypes, e.Description, e.Ordered = "https://b.example", []string{"*"}, "", false
	e.FailingSince, e.DisabledAt, e.DisabledReason, e.UpdatedAt = minute(2), minute(3), webhook.DisabledGone, minute(4)
	s.wantEndpoint(t, s.endpoint(t, e))
	e.NewSecret, e.PreviousUntil = "whsec_2", minute(9)
	changed := s.endpoint(t, e)
	changed.PreviousUntil = time.Time{} // not loaded: nothing asks for it
	s.wantEndpoint(t, changed)
}

func oneEndpointOfAURL(t *testing.T, s store) {
	first := s.endpoint(t, newEndpoint("shop", "https://a.example"))
	s.endpoint(t, newEndpoint("other-shop", "https://a.example"))
	err := s.InTx(t.Context(), func(ctx context.Context, tx webhook.Tx) error {
		return tx.Endpoints.Save(ctx, newEndpoint("shop", "https://a.example"))
	})
	if !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("a second one: %v, want %v", err, core.ErrUnavailable)
	}
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) error {
		found, err := tx.Endpoints.LockOwner(ctx, first.Owner)
		equal(t, "endpoints of the owner", found, []*webhook.Endpoint{first})
		return err
	})
}

func endpointPages(t *testing.T, s store) {
	var ids []int64
	for n, seller := range []string{"shop", "", "shop", "other-shop"} {
		e := newEndpoint(seller, "https://a.example/"+string(rune('a'+n)))
		e.CreatedAt = minute(n)
		ids = append(ids, s.endpoint(t, e).ID)
	}
	for name, c := range map[string]struct {
		grant core.Grant
		page  core.Page
		want  []int64
	}{
		"all":              {core.GrantEverybody, core.Page{Limit: 10}, []int64{ids[3], ids[2], ids[1], ids[0]}},
		"one and one more": {core.GrantEverybody, core.Page{Limit: 1}, []int64{ids[3], ids[2]}},
		"a later page": {
			core.GrantEverybody, core.Page{Limit: 10, After: core.Position{CreatedAt: minute(2), ID: ids[2]}}, []int64{ids[1], ids[0]},
		},
		"those of a seller": {core.Grant{Seller: "shop"}, core.Page{Limit: 10}, []int64{ids[2], ids[0]}},
		"those of a seller's, later": {
			core.Grant{Seller: "shop"}, core.Page{Limit: 10, After: core.Position{CreatedAt: minute(2), ID: ids[2]}}, []int64{ids[0]},
		},
		"none": {core.Grant{}, core.Page{Limit: 10}, nil},
	} {
		s.inTx(t, func(ctx context.Context, tx webhook.Tx) error {
			found, err := tx.Endpoints.List(ctx, c.grant, c.page)
			var got []int64
			for _, e := range found {
				got = append(got, e.ID)
			}
			equal(t, name, got, c.want)
			return err
		})
	}
}

func endpointLock(t *testing.T, s store) {
	e := s.endpoint(t, newEndpoint("shop", "https://a.example"))
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) error {
		got, err := tx.Endpoints.Lock(ctx, e.ID)
		equal(t, "the locked endpoint", got, e)
		if _, err := tx.Endpoints.Lock(ctx, e.ID+1000); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("an unknown one: %v, want %v", err, core.ErrNotFound)
		}
		return err
	})
}

// delivery queues a delivery of an event.
func (s store) delivery(t *testing.T, endpointID int64) (d *webhook.Delivery) {
	t.Helper()
	event := core.Event{Type: webhook.EventTest, Aggregate: "webhook_endpoint/1", Data: webhook.EventData{EndpointID: endpointID}}
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) (err error) {
		d, err = tx.Deliveries.Add(ctx, endpointID, event, minute(1))
		return err
	})
	want := &webhook.Delivery{
		ID: d.ID, EndpointID: endpointID, EventID: d.EventID, EventType: webhook.EventTest, Status: webhook.Pending,
		NextAttemptAt: minute(1), CreatedAt: minute(1),
	}
	equal(t, "a new delivery", d, want)
	return d
}

// record records an attempt as the last one.
func (s store) record(t *testing.T, d *webhook.Delivery) {
	t.Helper()
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) error { return tx.Deliveries.Record(ctx, d) })
}

func (s store) wantDeliveries(t *testing.T, what string, f webhook.Filter, page core.Page, want ...*webhook.Delivery) {
	t.Helper()
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) error {
		got, err := tx.Deliveries.List(ctx, f, page)
		equal(t, what, got, want)
		return err
	})
}

func deliveryRecord(t *testing.T, s store) {
	e := s.endpoint(t, newEndpoint("shop", "https://a.example"))
	all, page := webhook.Filter{EndpointID: e.ID}, core.Page{Limit: 10}
	d := s.delivery(t, e.ID)
	d.NextAttemptAt, d.Last = minute(9), webhook.Outcome{Status: 500, Start: "да", Failure: webhook.FailedStatus}
	s.record(t, d)
	s.wantDeliveries(t, "after an attempt", all, page, d)
	followed := *d
	followed.Attempts, followed.Last = 1, webhook.Outcome{Status: 200}
	s.record(t, &followed)
	s.wantDeliveries(t, "after an attempt of another number", all, page, d)
	d.Status, d.NextAttemptAt, d.FinishedAt = webhook.Failed, time.Time{}, minute(2)
	s.record(t, d)
	s.wantDeliveries(t, "after the last attempt", all, page, d)
	decided := *d
	decided.Status, decided.Last = webhook.Delivered, webhook.Outcome{Status: 200}
	s.record(t, &decided)
	s.wantDeliveries(t, "after the decision", all, page, d)
}

func deliveryRetry(t *testing.T, s store) {
	e := s.endpoint(t, newEndpoint("shop", "https://a.example"))
	first := s.delivery(t, e.ID)
	ended := *first
	ended.Status, ended.NextAttemptAt, ended.FinishedAt = webhook.Failed, time.Time{}, minute(2)
	ended.Last = webhook.Outcome{Status: 500, Start: "no", Failure: webhook.FailedStatus}
	s.record(t, &ended)
	for endpointID, want := range map[int64]error{e.ID: nil, e.ID + 1000: core.ErrNotFound} {
		err := s.InTx(t.Context(), func(ctx context.Context, tx webhook.Tx) error {
			again, err := tx.Deliveries.Retry(ctx, endpointID, first.ID, minute(5))
			if err == nil {
				want := *first
				want.NextAttemptAt = minute(5)
				equal(t, "the delivery that is due again", again, &want)
			}
			return err
		})
		if !errors.Is(err, want) {
			t.Errorf("as a delivery of endpoint %d: %v, want %v", endpointID, err, want)
		}
	}
	first.NextAttemptAt = minute(5)
	s.wantDeliveries(t, "after it", webhook.Filter{EndpointID: e.ID}, core.Page{Limit: 10}, first)
}

func deliveryPages(t *testing.T, s store) {
	e, other := s.endpoint(t, newEndpoint("shop", "https://a.example")), s.endpoint(t, newEndpoint("shop", "https://b.example"))
	first, second, third := s.delivery(t, e.ID), s.delivery(t, e.ID), s.delivery(t, e.ID)
	s.delivery(t, other.ID)
	second.Status, second.NextAttemptAt, second.FinishedAt = webhook.Delivered, time.Time{}, minute(4)
	s.record(t, second)
	all, page := webhook.Filter{EndpointID: e.ID}, core.Page{Limit: 10}
	s.wantDeliveries(t, "all", all, page, third, second, first)
	s.wantDeliveries(t, "one and one more", all, core.Page{Limit: 1}, third, second)
	page.After = core.Position{CreatedAt: third.CreatedAt, ID: third.ID}
	s.wantDeliveries(t, "a later page", all, page, second, first)
	pending := webhook.Filter{EndpointID: e.ID, Status: webhook.Pending}
	s.wantDeliveries(t, "those that wait", pending, core.Page{Limit: 10}, third, first)
	s.wantDeliveries(t, "a later page of those that wait", pending, page, first)
}

func deliveriesOfDeletedEndpoint(t *testing.T, s store) {
	e := s.endpoint(t, newEndpoint("shop", "https://a.example"))
	s.delivery(t, e.ID)
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) error { return tx.Endpoints.Delete(ctx, e.ID) })
	s.wantDeliveries(t, "those of a deleted endpoint", webhook.Filter{EndpointID: e.ID}, core.Page{Limit: 10})
	s.inTx(t, func(ctx context.Context, tx webhook.Tx) error {
		if _, err := tx.Endpoints.Get(ctx, e.ID); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("the deleted endpoint: %v, want %v", err, core.ErrNotFound)
		}
		return nil
	})
}
