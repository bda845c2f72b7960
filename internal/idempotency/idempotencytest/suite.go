// Package idempotencytest is the suite that every [idempotency.Store] must pass. A store
// of one's own is tested with a few lines:
//
//	func TestStore(t *testing.T) {
//		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Fixture { … })
//	}
package idempotencytest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/idempotency"
)

// Fixture is a store under test on an empty database.
type Fixture struct {
	Store idempotency.Store
	// Replica is the store of another process on the same database.
	Replica idempotency.Store
	// Write adds an effect in the transaction that ctx carries.
	Write func(ctx context.Context) error
	// Read reads in the transaction that ctx carries, so that a store that delays writes
	// has to send those that wait.
	Read func(ctx context.Context) error
	// Effects returns the number of committed effects.
	Effects func(t *testing.T) int
}

// Run runs the suite. open returns a new fixture for each test.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

var tests = map[string]func(*testing.T, Fixture){
	"a key runs its command once and then replays":      replaysTheFirstResponse,
	"the record commits with the effect":                commitsTogether,
	"a refusal is kept without its writes":              keepsRefusals,
	"a refusal is kept without writes that were sent":   keepsRefusalsAfterARead,
	"a failure keeps nothing and frees the key":         keepsNoFailure,
	"a panic keeps nothing and frees the key":           keepsNothingOfAPanic,
	"a key in use is in progress":                       reportsInProgress,
	"equal keys of two scopes are two keys":             separatesScopes,
	"case counts in keys":                               separatesCase,
	"another request gets the record of the first":      leavesComparingToTheGuard,
	"an expired record counts as absent":                ignoresExpiredRecords,
	"a record expires on every replica":                 expiresEverywhere,
	"a response may have no body":                       keepsEmptyBodies,
	"many requests with one key have one effect":        runsOnceAmongMany,
	"many requests through the guard have one response": guardAnswersAll,
}

// claim returns the claim of a createOrder request with the given key.
func claim(key string) idempotency.Claim {
	return idempotency.Claim{
		ID:          idempotency.ID{Scope: "https://issuer.example sber-42", Key: key},
		Operation:   "createOrder",
		Fingerprint: "\x01\xff\x00fingerprint",
	}
}

// created is the result of a command that did something. Its body is not text: a store
// keeps bytes.
var created = idempotency.Result{
	Response: idempotency.Response{
		Status: 201, ContentType: "application/json", Location: "/orders/1",
		Body: []byte("{\"b\":1,\"a\":\xff\x00}"),
	},
	TTL: time.Hour,
}

// refused is the result of a command that refused to do something.
var refused = idempotency.Result{
	Response: idempotency.Response{
		Status: 409, ContentType: "application/problem+json", Body: []byte(`{"code":"out_of_stock"}`),
	},
	Refused: true,
	TTL:     time.Minute,
}

var errFailed = errors.New("the command failed")

// writes returns a command that has one effect and the given result.
func (f Fixture) writes(result idempotency.Result) idempotency.Command {
	return func(ctx context.Context) (idempotency.Result, error) { return result, f.Write(ctx) }
}

// mustNotRun returns a command that fails the test.
func mustNotRun(t *testing.T) idempotency.Command {
	t.Helper()
	return func(context.Context) (idempotency.Result, error) {
		t.Error("the command ran although a record should have been replayed")
		return created, nil
	}
}

// mustRun executes a command under a key that must be free, and returns the record.
func (f Fixture) mustRun(t *testing.T, c idempotency.Claim, run idempotency.Command) idempotency.Record {
	t.Helper()
	rec, replayed, err := f.Store.Execute(t.Context(), c, run)
	if err != nil || replayed {
		t.Fatalf("execute %q: replayed = %v, %v; want the command to run", c.Key, replayed, err)
	}
	return rec
}

// wantReplay checks that a request gets a record, on every replica and repeatedly, and
// that nothing runs.
func (f Fixture) wantReplay(t *testing.T, c idempotency.Claim, want idempotency.Record) {
	t.Helper()
	for name, store := range map[string]idempotency.Store{"this process": f.Store, "a replica": f.Replica} {
		for range 2 { // a store may remember the second
			rec, replayed, err := store.Execute(t.Context(), c, mustNotRun(t))
			if err != nil || !replayed {
				t.Errorf("%s: replayed = %v, %v; want a replay", name, replayed, err)
			}
			wantRecord(t, rec, want)
		}
	}
}

func wantRecord(t *testing.T, got, want idempotency.Record) {
	t.Helper()
	same := got.Claim == want.Claim && got.Status == want.Status && got.ContentType == want.ContentType &&
		got.Location == want.Location && bytes.Equal(got.Body, want.Body) &&
		got.CreatedAt.Equal(want.CreatedAt) && got.ExpiresAt.Equal(want.ExpiresAt)
	if !same {
		t.Errorf("record %+v\nwant   %+v", got, want)
	}
}

// mustLookup returns the record of a key, and reports whether there is one.
func (f Fixture) mustLookup(t *testing.T, id idempotency.ID) (idempotency.Record, bool) {
	t.Helper()
	rec, found, err := f.Store.Lookup(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return rec, found
}

func (f Fixture) wantEffects(t *testing.T, want int) {
	t.Helper()
	if got := f.Effects(t); got != want {
		t.Errorf("%d effects, want %d", got, want)
	}
}

// wantFree checks that nothing was kept for a key, and that its command runs.
func (f Fixture) wantFree(t *testing.T, c idempotency.Claim) {
	t.Helper()
	f.wantEffects(t, 0)
	if rec, found := f.mustLookup(t, c.ID); found {
		t.Errorf("a record was kept: %+v", rec)
	}
	f.mustRun(t, c, f.writes(created))
	f.wantEffects(t, 1)
}

func replaysTheFirstResponse(t *testing.T, f Fixture) {
	c := claim("key-1")
	first := f.mustRun(t, c, f.writes(created))
	wantRecord(t, first, idempotency.Record{
		Claim: c, Response: created.Response,
		CreatedAt: first.CreatedAt, ExpiresAt: first.CreatedAt.Add(created.TTL),
	})
	f.wantReplay(t, c, first)
	found, _ := f.mustLookup(t, c.ID)
	wantRecord(t, found, first)
	f.wantEffects(t, 1)
}

func commitsTogether(t *testing.T, f Fixture) {
	c := claim("key-1")
	f.mustRun(t, c, func(ctx context.Context) (idempotency.Result, error) {
		err := errors.Join(f.Write(ctx), f.Read(ctx))
		if _, found, _ := f.Replica.Lookup(t.Context(), c.ID); found {
			t.Error("the record is visible before its effect")
		}
		f.wantEffects(t, 0)
		return created, err
	})
	f.wantEffects(t, 1)
	if _, found := f.mustLookup(t, c.ID); !found {
		t.Error("the effect was committed without its record")
	}
}

func keepsRefusals(t *testing.T, f Fixture) {
	c := claim("key-1")
	first := f.mustRun(t, c, f.writes(refused))
	if ttl := first.ExpiresAt.Sub(first.CreatedAt); ttl != refused.TTL {
		t.Errorf("the refusal is kept for %s, want %s", ttl, refused.TTL)
	}
	f.wantEffects(t, 0)
	f.wantReplay(t, c, first)
}

func keepsRefusalsAfterARead(t *testing.T, f Fixture) {
	c := claim("key-1")
	first := f.mustRun(t, c, func(ctx context.Context) (idempotency.Result, error) {
		return refused, errors.Join(f.Write(ctx), f.Read(ctx), f.Write(ctx))
	})
	f.wantEffects(t, 0)
	f.wantReplay(t, c, first)
}

func keepsNoFailure(t *testing.T, f Fixture) {
	c := claim("key-1")
	_, replayed, err := f.Store.Execute(t.Context(), c, func(ctx context.Context) (idempotency.Result, error) {
		return created, errors.Join(f.Write(ctx), f.Read(ctx), f.Write(ctx), errFailed)
	})
	if !errors.Is(err, errFailed) || replayed {
		t.Errorf("replayed = %v, %v; want the error of the command", replayed, err)
	}
	f.wantFree(t, c)
}

func keepsNothingOfAPanic(t *testing.T, f Fixture) {
	c := claim("key-1")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _, _ = f.Store.Execute(t.Context(), c, func(ctx context.Context) (idempotency.Result, error) {
			_ = errors.Join(f.Write(ctx), f.Read(ctx))
			panic("a bug")
		})
	}()
	f.wantFree(t, c)
}

func reportsInProgress(t *testing.T, f Fixture) {
	c := claim("key-1")
	first := f.mustRun(t, c, func(context.Context) (idempotency.Result, error) {
		for name, store := range map[string]idempotency.Store{"this process": f.Store, "a replica": f.Replica} {
			// A request of its own: its context is not that of the command.
			_, _, err := store.Execute(t.Context(), c, mustNotRun(t))
			if !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("%s: %v, want ErrInProgress", name, err)
			}
			if _, found, err := store.Lookup(t.Context(), c.ID); found || !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("%s: the look-up returned found = %v, %v; want ErrInProgress", name, found, err)
			}
		}
		return created, nil
	})
	f.wantReplay(t, c, first)
}

func separatesScopes(t *testing.T, f Fixture) {
	mine, yours := claim("key-1"), claim("key-1")
	yours.Scope = "https://issuer.example sber-43"
	first := f.mustRun(t, mine, f.writes(created))
	if rec, found := f.mustLookup(t, yours.ID); found {
		t.Errorf("one scope sees the record of another: %+v", rec)
	}
	f.mustRun(t, yours, f.writes(refused))
	f.wantReplay(t, mine, first)
}

func separatesCase(t *testing.T, f Fixture) {
	f.mustRun(t, claim("key-1"), f.writes(created))
	if rec, found := f.mustLookup(t, claim("KEY-1").ID); found {
		t.Errorf("key-1 and KEY-1 share a record: %+v", rec)
	}
}

func leavesComparingToTheGuard(t *testing.T, f Fixture) {
	first := f.mustRun(t, claim("key-1"), f.writes(created))
	other := claim("key-1")
	other.Fingerprint, other.Operation = "another", "creditBalance"
	f.wantReplay(t, other, first)
}

func ignoresExpiredRecords(t *testing.T, f Fixture) {
	c := claim("key-1")
	expired := refused
	expired.TTL = -time.Second
	f.mustRun(t, c, func(context.Context) (idempotency.Result, error) { return expired, nil })
	if rec, found := f.mustLookup(t, c.ID); found {
		t.Errorf("an expired record was found: %+v", rec)
	}
	second := f.mustRun(t, c, f.writes(created))
	f.wantReplay(t, c, second)
}

func expiresEverywhere(t *testing.T, f Fixture) {
	c := claim("key-1")
	short := refused
	short.TTL = 500 * time.Millisecond
	first := f.mustRun(t, c, func(context.Context) (idempotency.Result, error) { return short, nil })
	f.wantReplay(t, c, first) // now every replica may remember it
	time.Sleep(short.TTL)     // what is tested is that time passes

	second, replayed, err := f.Replica.Execute(t.Context(), c, f.writes(created))
	if err != nil || replayed {
		t.Fatalf("after its expiry: replayed = %v, %v", replayed, err)
	}
	f.wantReplay(t, c, second)
}

func keepsEmptyBodies(t *testing.T, f Fixture) {
	c := claim("key-1")
	noContent := idempotency.Result{Response: idempotency.Response{Status: 204}, TTL: time.Hour}
	first := f.mustRun(t, c, func(context.Context) (idempotency.Result, error) { return noContent, nil })
	f.wantReplay(t, c, first)
}

func runsOnceAmongMany(t *testing.T, f Fixture) {
	c := claim("key-1")
	var runs atomic.Int64
	count := func(ctx context.Context) (idempotency.Result, error) {
		runs.Add(1)
		return created, f.Write(ctx)
	}
	records := f.atOnce(t, 12, func(store idempotency.Store) (idempotency.Record, error) {
		for {
			rec, _, err := store.Execute(t.Context(), c, count)
			if !errors.Is(err, idempotency.ErrInProgress) {
				return rec, err
			}
			time.Sleep(time.Millisecond) // as the guard does, who polls
		}
	})
	for _, rec := range records {
		wantRecord(t, rec, records[0])
	}
	if n := runs.Load(); n != 1 {
		t.Errorf("the command ran %d times", n)
	}
	f.wantEffects(t, 1)
}

func guardAnswersAll(t *testing.T, f Fixture) {
	request := idempotency.Request{
		ID:      claim("key-1").ID,
		Content: idempotency.Content{Method: "POST", Path: "/orders", Body: []byte(`{}`)},
	}
	records := f.atOnce(t, 12, func(store idempotency.Store) (idempotency.Record, error) {
		guard := idempotency.Guard{Store: store, Wait: time.Minute, Timeout: time.Minute}
		rec, _, err := guard.Do(t.Context(), request, f.writes(created))
		return rec, err
	})
	for _, rec := range records {
		wantRecord(t, rec, records[0])
	}
	f.wantEffects(t, 1)
}

// atOnce makes n requests at the same time, on both replicas, and returns their records.
func (f Fixture) atOnce(t *testing.T, n int, request func(idempotency.Store) (idempotency.Record, error)) []idempotency.Record {
	t.Helper()
	records := make([]idempotency.Record, n)
	var all sync.WaitGroup
	for i := range records {
		store := []idempotency.Store{f.Store, f.Replica}[i%2]
		all.Go(func() {
			var err error
			if records[i], err = request(store); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return records
}
