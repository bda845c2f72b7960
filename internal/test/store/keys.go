package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/idempotency"
	"example.com/orders/internal/idempotency/idempotencytest"
)

// The suite of AUTH-19 is idempotencytest. These cases are about the transaction that the
// store of the guard shares with the stores of the core.
var keyCases = []storeCase{
	{"a command joins the transaction of its key", commandJoins},
	{"a refusal drops everything that the command wrote", refusalDropsAllWrites},
	{"clean-up deletes expired records, and no more than asked", cleanUp},
}

// guardFixture returns the fixture of idempotencytest. Its effects are events.
func guardFixture(s Stores) idempotencytest.Fixture {
	return idempotencytest.Fixture{
		Store: s.Keys, Replica: s.Replica,
		Write: func(ctx context.Context) error {
			return s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
				return tx.Outbox.Add(ctx, core.Event{Type: "order.paid", Aggregate: "order/1"})
			})
		},
		Read: func(ctx context.Context) error {
			return s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
				_, err := tx.Orders.Get(ctx, 1)
				if errors.Is(err, core.ErrNotFound) {
					return nil
				}
				return err
			})
		},
		Effects: func(t *testing.T) int {
			t.Helper()
			return len(s.Events(t))
		},
	}
}

// claim returns the claim of a createOrder request with the given key.
func claim(key string) idempotency.Claim {
	id := idempotency.ID{Scope: "https://issuer.example sber-42", Key: key}
	return idempotency.Claim{ID: id, Operation: "createOrder", Fingerprint: "\x01fingerprint"}
}

var (
	created = idempotency.Result{Response: idempotency.Response{Status: 201, Body: []byte(`{}`)}, TTL: time.Hour}
	refused = idempotency.Result{Response: idempotency.Response{Status: 409, Body: []byte(`{}`)}, TTL: time.Minute, Refused: true}
)

// mustExecute runs a command under a key and returns the record.
func (s Stores) mustExecute(t *testing.T, key string, run idempotency.Command) idempotency.Record {
	t.Helper()
	rec, _, err := s.Keys.Execute(t.Context(), claim(key), run)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func commandJoins(t *testing.T, s Stores) {
	var now time.Time
	rec := s.mustExecute(t, "key-1", func(ctx context.Context) (idempotency.Result, error) {
		return created, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			now = tx.Now
			return writeEverything(ctx, tx)
		})
	})
	equal(t, "created at", rec.CreatedAt, now)
	want := newOrder(1, "key-1")
	markStored(want)
	equal(t, "order", s.order(t, 1), want)
}

func refusalDropsAllWrites(t *testing.T, s Stores) {
	s.mustExecute(t, "key-1", func(ctx context.Context) (idempotency.Result, error) {
		return refused, s.Payments.InTx(ctx, writeEverything)
	})
	s.mustExecute(t, "key-2", func(ctx context.Context) (idempotency.Result, error) {
		return refused, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			if err := writeEverything(ctx, tx); err != nil {
				return err
			}
			_, err := tx.Orders.Get(ctx, 1) // sends the writes above before it reads
			return errors.Join(err, tx.Outbox.Add(ctx, core.Event{Type: "order.paid"}))
		})
	})
	s.isEmpty(t)
}

func cleanUp(t *testing.T, s Stores) {
	for key, ttl := range map[string]time.Duration{"old-1": -time.Hour, "old-2": -time.Minute, "old-3": -time.Second, "live": time.Hour} {
		result := refused
		result.TTL = ttl
		s.mustExecute(t, key, func(context.Context) (idempotency.Result, error) { return result, nil })
	}
	for _, want := range []int{2, 1, 0} {
		n, err := s.Keys.DeleteExpired(t.Context(), 2)
		if n != want || err != nil {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	_, found, err := s.Keys.Lookup(t.Context(), claim("live").ID)
	if !found || err != nil {
		t.Errorf("the live record: found = %v, %v", found, err)
	}
}
