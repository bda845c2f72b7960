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

// The suite of AUTH-19 is idempotencytest; these tests are about the transaction that the
// store of the guard shares with the stores of the core.
var keyCases = []testCase{
	{"a command joins the transaction of its key", commandJoins},
	{"a refusal drops everything that the command wrote", refusalDropsAllWrites},
	{"a failure drops everything that the command wrote", failureDropsAllWrites},
	{"clean-up deletes expired records, and no more than asked", cleanUp},
}

// guardFixture returns the fixture of idempotencytest: its effects are events.
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
	return idempotency.Claim{
		ID:          idempotency.ID{Scope: "https://issuer.example sber-42", Key: key},
		Operation:   "createOrder",
		Fingerprint: "\x01fingerprint",
	}
}

var created = idempotency.Result{
	Response: idempotency.Response{Status: 201, ContentType: "application/json", Location: "/orders/1", Body: []byte(`{}`)},
	TTL:      time.Hour,
}

var refused = idempotency.Result{
	Response: idempotency.Response{Status: 409, ContentType: "application/problem+json", Body: []byte(`{}`)},
	Refused:  true, TTL: time.Minute,
}

// mustExecute runs a command under a key and returns the record.
func (s *suite) mustExecute(key string, run idempotency.Command) idempotency.Record {
	s.Helper()
	rec, _, err := s.Keys.Execute(s.Context(), claim(key), run)
	if err != nil {
		s.Fatal(err)
	}
	return rec
}

// writesEverything returns a command that writes to every store and has the given result.
func (s *suite) writesEverything(result idempotency.Result) idempotency.Command {
	return func(ctx context.Context) (idempotency.Result, error) {
		return result, s.Payments.InTx(ctx, writeEverything)
	}
}

func (s *suite) stored(key string) bool {
	s.Helper()
	_, found, err := s.Keys.Lookup(s.Context(), claim(key).ID)
	if err != nil {
		s.Fatal(err)
	}
	return found
}

func commandJoins(s *suite) {
	var now time.Time
	rec := s.mustExecute("key-1", func(ctx context.Context) (idempotency.Result, error) {
		return created, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			now = tx.Now
			return writeEverything(ctx, tx)
		})
	})
	s.same("created at", rec.CreatedAt, now)
	s.same("order", s.order(1), newOrder(1, "key-1"))
}

func refusalDropsAllWrites(s *suite) {
	s.mustExecute("key-1", s.writesEverything(refused))
	s.mustExecute("key-2", func(ctx context.Context) (idempotency.Result, error) {
		return refused, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			if err := writeEverything(ctx, tx); err != nil {
				return err
			}
			_, err := tx.Orders.Get(ctx, 1) // the writes above are sent before this read
			return errors.Join(err, tx.Outbox.Add(ctx, core.Event{Type: "order.paid"}))
		})
	})
	s.empty()
	s.same("both refusals are kept", s.stored("key-1") && s.stored("key-2"), true)
}

func failureDropsAllWrites(s *suite) {
	_, _, err := s.Keys.Execute(s.Context(), claim("key-1"), func(ctx context.Context) (idempotency.Result, error) {
		return created, errors.Join(s.Payments.InTx(ctx, writeEverything), errRefused)
	})
	if !errors.Is(err, errRefused) {
		s.Errorf("the error came back as %v", err)
	}
	s.empty()
	s.same("the record is kept", s.stored("key-1"), false)
}

func cleanUp(s *suite) {
	for key, ttl := range map[string]time.Duration{"old-1": -time.Hour, "old-2": -time.Minute, "old-3": -time.Second, "live": time.Hour} {
		result := refused
		result.TTL = ttl
		s.mustExecute(key, func(context.Context) (idempotency.Result, error) { return result, nil })
	}
	for _, want := range []int{2, 1, 0} {
		n, err := s.Keys.DeleteExpired(s.Context(), 2)
		if n != want || err != nil {
			s.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	s.same("the live record is kept", s.stored("live"), true)
}
