package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/idempotency"
)

var keyCases = []testCase{
	{"a key runs its command once and then replays", keyReplays},
	{"a key is stored with the effect of its command", keyJoins},
	{"a refusal is kept and its writes are not", refusalIsKept},
	{"a refusal is kept and what it wrote last is not", refusalIsKeptLast},
	{"a refusal is kept and what it has read again is not", refusalIsKeptRead},
	{"a failure keeps nothing and frees the key", failureFreesTheKey},
	{"a panic keeps nothing and frees the key", panicFreesTheKey},
	{"a key that is held is in progress", keyInProgress},
	{"equal keys of two principals are two keys", twoPrincipals},
	{"another request with the key gets the record of the first", otherFingerprint},
	{"an expired record counts as absent", expiredIsAbsent},
	{"a record expires everywhere", recordsExpire},
	{"clean-up removes what has expired, and no more than asked", cleanUp},
	{"a response may have no body", emptyBody},
	{"many callers with one key make one effect", keyAtOnce},
}

func ask(key string) idempotency.Request {
	return idempotency.Request{
		ID:          idempotency.ID{Principal: "https://issuer.example sber-42", Key: key},
		Fingerprint: "\x01\xff\x00fingerprint", Command: "createOrder",
	}
}

// created is the result of a command that did something. Its body is no text: a store
// keeps bytes.
var created = idempotency.Result{
	Response: idempotency.Response{Status: 201, ContentType: "application/json", Location: "/orders/1", Body: []byte("{\"b\":1,\"a\":\xff\x00}")},
	TTL:      time.Hour,
}

var refused = idempotency.Result{
	Response: idempotency.Response{Status: 409, ContentType: "application/problem+json", Body: []byte(`{"code":"out_of_stock"}`)},
	Refused:  true, TTL: time.Minute,
}

// once runs a command under a key, and fails the test if that fails.
func (s *suite) once(r idempotency.Request, run func(context.Context) (idempotency.Result, error)) (idempotency.Record, bool) {
	s.Helper()
	rec, replayed, err := s.Keys.Once(s.Context(), r, run)
	if err != nil {
		s.Fatal(err)
	}
	return rec, replayed
}

func (s *suite) unexpected(context.Context) (idempotency.Result, error) {
	s.Error("the command ran again")
	return created, nil
}

// does gives a command that writes and comes to a result.
func (s *suite) does(result idempotency.Result) func(context.Context) (idempotency.Result, error) {
	return func(ctx context.Context) (idempotency.Result, error) {
		return result, s.Payments.InTx(ctx, writeEverything)
	}
}

// replays tells that a request gets a record, here and elsewhere, and runs nothing.
func (s *suite) replays(r idempotency.Request, want idempotency.Record) {
	s.Helper()
	for where, keys := range map[string]Keys{"here": s.Keys, "elsewhere": s.Replica} {
		for range 2 { // the second time it may be remembered
			rec, replayed, err := keys.Once(s.Context(), r, s.unexpected)
			if !replayed || err != nil {
				s.Errorf("%s: replayed = %v, %v", where, replayed, err)
			}
			s.same("replay "+where, rec, want)
		}
	}
}

// find gives the record of a key, or fails the test.
func (s *suite) find(id idempotency.ID) (idempotency.Record, bool) {
	s.Helper()
	rec, found, err := s.Keys.Find(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	return rec, found
}

func keyReplays(s *suite) {
	first, replayed := s.once(ask("key-1"), s.does(created))
	if replayed {
		s.Error("the first request was a replay")
	}
	s.same("record", first, idempotency.Record{
		Request: ask("key-1"), Response: created.Response,
		CreatedAt: first.CreatedAt, ExpiresAt: first.CreatedAt.Add(time.Hour),
	})
	s.replays(ask("key-1"), first)
	found, _ := s.find(ask("key-1").ID)
	s.same("record, looked up", found, first)
	s.same("orders", len(s.orders(order.Filter{}, core.Page{Limit: 10})), 1)
}

func keyJoins(s *suite) {
	var now time.Time
	rec, _ := s.once(ask("key-1"), func(ctx context.Context) (idempotency.Result, error) {
		return created, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			now = tx.Now
			if _, found := s.find(ask("key-1").ID); found {
				s.Error("the record is there before its effect")
			}
			return writeEverything(ctx, tx)
		})
	})
	s.same("created at", rec.CreatedAt, now)
	s.same("order", s.order(1), newOrder(1, "key-1"))
}

func refusalIsKept(s *suite) {
	first, _ := s.once(ask("key-1"), s.does(refused))
	s.same("response", first.Response, refused.Response)
	s.same("expires", first.ExpiresAt.Sub(first.CreatedAt), time.Minute)
	s.empty()
	s.replays(ask("key-1"), first)
}

func refusalIsKeptLast(s *suite) {
	s.once(ask("key-1"), func(ctx context.Context) (idempotency.Result, error) {
		return refused, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			return save(ctx, tx, newProduct(1, "tea"), core.Event{Type: "order.paid"})
		})
	})
	s.empty()
}

func refusalIsKeptRead(s *suite) {
	s.once(ask("key-1"), func(ctx context.Context) (idempotency.Result, error) {
		return refused, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			if err := writeEverything(ctx, tx); err != nil {
				return err
			}
			_, err := tx.Orders.Get(ctx, 1)
			return errors.Join(err, tx.Journal.Publish(ctx, core.Event{Type: "order.paid"}))
		})
	})
	s.empty()
	if _, found := s.find(ask("key-1").ID); !found {
		s.Error("the refusal was not kept")
	}
}

func failureFreesTheKey(s *suite) {
	_, _, err := s.Keys.Once(s.Context(), ask("key-1"), func(ctx context.Context) (idempotency.Result, error) {
		return created, errors.Join(s.Payments.InTx(ctx, writeEverything), errRefused)
	})
	if !errors.Is(err, errRefused) {
		s.Errorf("the error came back as %v", err)
	}
	s.free(ask("key-1"))
}

func panicFreesTheKey(s *suite) {
	func() {
		defer func() { _ = recover() }()
		_, _, _ = s.Keys.Once(s.Context(), ask("key-1"), func(ctx context.Context) (idempotency.Result, error) {
			_ = s.Payments.InTx(ctx, writeEverything)
			panic("a bug")
		})
	}()
	s.free(ask("key-1"))
}

// free tells that nothing was kept and that the key runs as new.
func (s *suite) free(r idempotency.Request) {
	s.Helper()
	s.empty()
	if _, found := s.find(r.ID); found {
		s.Error("a record was kept")
	}
	if _, replayed := s.once(r, s.does(created)); replayed {
		s.Error("the key was not free")
	}
}

func keyInProgress(s *suite) {
	s.once(ask("key-1"), func(context.Context) (idempotency.Result, error) {
		for where, keys := range map[string]Keys{"here": s.Keys, "elsewhere": s.Replica} {
			// Another request: its context is not the command's.
			_, _, err := keys.Once(s.Context(), ask("key-1"), s.unexpected)
			if !errors.Is(err, idempotency.ErrInProgress) {
				s.Errorf("a second request %s got %v", where, err)
			}
		}
		return created, nil
	})
	rec, _ := s.find(ask("key-1").ID)
	s.replays(ask("key-1"), rec)
}

func twoPrincipals(s *suite) {
	mine, yours := ask("key-1"), ask("key-1")
	yours.Principal = "https://issuer.example sber-43"
	s.once(mine, s.does(created))
	if rec, found := s.find(yours.ID); found {
		s.Errorf("one principal sees the other's record: %+v", rec)
	}
	if _, replayed := s.once(yours, func(context.Context) (idempotency.Result, error) { return refused, nil }); replayed {
		s.Error("one principal got the other's response")
	}
	rec, _ := s.find(mine.ID)
	s.same("my response", rec.Response, created.Response)
	if _, found := s.find(ask("KEY-1").ID); found {
		s.Error("case does not count")
	}
}

func otherFingerprint(s *suite) {
	first, _ := s.once(ask("key-1"), s.does(created))
	other := ask("key-1")
	other.Fingerprint, other.Command = "another", "creditBalance"
	s.replays(other, first) // the guard compares, and refuses
}

func expiredIsAbsent(s *suite) {
	expired := refused
	expired.TTL = -time.Second
	s.once(ask("key-1"), func(context.Context) (idempotency.Result, error) { return expired, nil })
	if rec, found := s.find(ask("key-1").ID); found {
		s.Errorf("an expired record was found: %+v", rec)
	}
	rec, replayed := s.once(ask("key-1"), s.does(created))
	if replayed {
		s.Error("an expired record was replayed")
	}
	s.same("response", rec.Response, created.Response)
	s.replays(ask("key-1"), rec)
}

func recordsExpire(s *suite) {
	short := refused
	short.TTL = 500 * time.Millisecond
	first, _ := s.once(ask("key-1"), func(context.Context) (idempotency.Result, error) { return short, nil })
	s.replays(ask("key-1"), first) // so that it is remembered wherever it may be
	time.Sleep(short.TTL)
	second, _, err := s.Replica.Once(s.Context(), ask("key-1"), s.does(created))
	if err != nil {
		s.Fatal(err)
	}
	s.same("response", second.Response, created.Response)
	s.replays(ask("key-1"), second)
}

func cleanUp(s *suite) {
	for key, ttl := range map[string]time.Duration{"old-1": -time.Hour, "old-2": -time.Minute, "old-3": -time.Second, "live": time.Hour} {
		result := refused
		result.TTL = ttl
		s.once(ask(key), func(context.Context) (idempotency.Result, error) { return result, nil })
	}
	for _, want := range []int{2, 1, 0} {
		n, err := s.Keys.DeleteExpired(s.Context(), 2)
		if n != want || err != nil {
			s.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	if _, found := s.find(ask("live").ID); !found {
		s.Error("a live record was deleted")
	}
}

func emptyBody(s *suite) {
	result := idempotency.Result{Response: idempotency.Response{Status: 204}, TTL: time.Hour}
	first, _ := s.once(ask("key-1"), func(context.Context) (idempotency.Result, error) { return result, nil })
	s.replays(ask("key-1"), first)
}

func keyAtOnce(s *suite) {
	var ran atomic.Int64
	var all sync.WaitGroup
	records := make([]idempotency.Record, 12)
	for i := range records {
		keys := s.Keys
		if i%2 == 0 {
			keys = s.Replica
		}
		all.Go(func() {
			var err error
			for range 10_000 { // as the guard does: who comes second looks again
				records[i], _, err = keys.Once(s.Context(), ask("key-1"), func(ctx context.Context) (idempotency.Result, error) {
					ran.Add(1)
					return s.does(created)(ctx)
				})
				if !errors.Is(err, idempotency.ErrInProgress) {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if err != nil {
				s.Error(err)
			}
		})
	}
	all.Wait()
	s.same("runs", ran.Load(), int64(1))
	for _, rec := range records {
		s.same("record", rec, records[0])
	}
	s.same("orders", len(s.orders(order.Filter{}, core.Page{Limit: 10})), 1)
}
