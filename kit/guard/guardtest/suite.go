// Package guardtest is the suite that every [guard.Store] must pass. A few
// lines test a new store:
//
//	func TestStore(t *testing.T) {
//		guardtest.Run(t, func(t *testing.T) guardtest.Fixture { … })
//	}
package guardtest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/orders/kit/guard"
)

// Fixture is a store under test on an empty database.
type Fixture struct {
	// Store is the store. If it is a [guard.LookupStore], the look-up is tested
	// as well.
	Store guard.Store
	// Replica is the store of a second process on the same database.
	Replica guard.Store
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
	"what became of a key can be looked up":             looksUpWhatBecameOfAKey,
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
	"a key is spent when its refusal is not replayed":   spendsKeys,
	"a key is spent on every replica":                   spendsKeysEverywhere,
	"a record expires on every replica":                 expiresEverywhere,
	"a response may have no body":                       keepsEmptyBodies,
	"many requests with one key have one effect":        runsOnceAmongMany,
	"many requests through the guard have one response": guardAnswersAll,
}

// claim returns the claim of a createOrder request with the given key.
func claim(key string) guard.Claim {
	return guard.Claim{
		ID:          guard.ID{Scope: "https://issuer.example sber-42", Key: key},
		Operation:   "createOrder",
		Fingerprint: "\x01\xff\x00fingerprint",
	}
}

// created is the result of a command that did something. The body is not text: a store
// keeps bytes.
var created = guard.Result{
	Response: guard.Response{
		Status: 201, ContentType: "application/json", Location: "/orders/1",
		Body: []byte("{\"b\":1,\"a\":\xff\x00}"),
	},
	TTL: time.Hour,
}

// refused is the result of a command that refused to do something.
var refused = guard.Result{
	Response: guard.Response{
		Status: 409, ContentType: "application/problem+json", Body: []byte(`{"code":"out_of_stock"}`),
	},
	Refused: true,
	TTL:     time.Minute,
}

var errFailed = errors.New("the command failed")

// writes returns a command that has one effect and the given result.
func (f Fixture) writes(result guard.Result) guard.Command {
	return func(ctx context.Context) (guard.Result, error) { return result, f.Write(ctx) }
}

func refuse(context.Context) (guard.Result, error) { return refused, nil }

// mustNotRun returns a command that fails the test.
func mustNotRun(t *testing.T) guard.Command {
	t.Helper()
	return func(context.Context) (guard.Result, error) {
		t.Error("the command ran although a record should have been replayed")
		return created, nil
	}
}

// mustRun executes a command under a key that must be free, and returns the record.
func (f Fixture) mustRun(t *testing.T, c guard.Claim, run guard.Command) guard.Record {
	t.Helper()
	rec, replayed, err := f.Store.Execute(t.Context(), c, run)
	if err != nil || replayed {
		t.Fatalf("execute %q: replayed = %v, %v; want the command to run", c.Key, replayed, err)
	}
	return rec
}

// wantReplay checks that a request gets a record, on every replica and repeatedly, and
// that no command runs.
func (f Fixture) wantReplay(t *testing.T, c guard.Claim, want guard.Record) {
	t.Helper()
	for name, store := range map[string]guard.Store{"this process": f.Store, "a replica": f.Replica} {
		for range 2 { // a store may remember the second
			rec, replayed, err := store.Execute(t.Context(), c, mustNotRun(t))
			if err != nil || !replayed {
				t.Errorf("%s: replayed = %v, %v; want a replay", name, replayed, err)
			}
			wantRecord(t, rec, want)
		}
	}
}

// remembered returns a record that every replica has replayed, so that it may remember
// it, and that is no longer replayed. shorten ends the replays after d. On a slow
// machine a record ends before them: the next one lives twice as long.
func (f Fixture) remembered(
	t *testing.T, shorten func(result *guard.Result, d time.Duration),
) (guard.Claim, guard.Record) {
	t.Helper()
	for d := 100 * time.Millisecond; d < time.Minute; d *= 2 {
		c, short := claim("key-"+d.String()), refused
		shorten(&short, d)
		first := f.mustRun(t, c, func(context.Context) (guard.Result, error) { return short, nil })
		replayed := f.replays(t, c, first)
		time.Sleep(d) // the clocks of database and process go on
		if replayed {
			f.reach(t)
			return c, first
		}
	}
	t.Fatal("no replica replays a record that ends within a minute")
	return guard.Claim{}, guard.Record{}
}

// reach uses a second key on every replica. A store may trust cached records only
// shortly after it has reached the database.
func (f Fixture) reach(t *testing.T) {
	t.Helper()
	for _, store := range []guard.Store{f.Store, f.Replica} {
		if _, _, err := store.Execute(t.Context(), claim("another-key"), refuse); err != nil {
			t.Fatal(err)
		}
	}
}

// replays reports whether every replica replays a record repeatedly.
func (f Fixture) replays(t *testing.T, c guard.Claim, want guard.Record) bool {
	t.Helper()
	for _, store := range []guard.Store{f.Store, f.Store, f.Replica, f.Replica} {
		rec, replayed, err := store.Execute(t.Context(), c, refuse)
		if err != nil {
			t.Fatal(err)
		}
		if !replayed || !equal(rec, want) {
			return false
		}
	}
	return true
}

func wantRecord(t *testing.T, got, want guard.Record) {
	t.Helper()
	if !equal(got, want) {
		t.Errorf("record %+v\nwant   %+v", got, want)
	}
}

func equal(got, want guard.Record) bool {
	return got.Claim == want.Claim && got.Status == want.Status && got.ContentType == want.ContentType &&
		got.Location == want.Location && bytes.Equal(got.Body, want.Body) &&
		got.CreatedAt.Equal(want.CreatedAt) && got.ReplayedUntil.Equal(want.ReplayedUntil) &&
		got.ExpiresAt.Equal(want.ExpiresAt) && got.Spent == want.Spent
}

// wantNoRecord checks that there is no record of a key, if the store can be asked.
func (f Fixture) wantNoRecord(t *testing.T, id guard.ID) {
	t.Helper()
	if store, ok := f.Replica.(guard.LookupStore); ok {
		if rec, found, err := store.Lookup(t.Context(), id); found || err != nil {
			t.Errorf("the look-up returned %+v, found = %v, %v; want no record", rec, found, err)
		}
	}
}

func (f Fixture) wantEffects(t *testing.T, want int) {
	t.Helper()
	if got := f.Effects(t); got != want {
		t.Errorf("%d effects, want %d", got, want)
	}
}

// wantFree checks that there is no record for a key, and that a command with it runs.
func (f Fixture) wantFree(t *testing.T, c guard.Claim) {
	t.Helper()
	f.wantEffects(t, 0)
	f.wantNoRecord(t, c.ID)
	f.mustRun(t, c, f.writes(created))
	f.wantEffects(t, 1)
}

// atOnce makes n requests at the same time, on both replicas, and returns their records.
func (f Fixture) atOnce(t *testing.T, n int, request func(guard.Store) (guard.Record, error)) []guard.Record {
	t.Helper()
	records := make([]guard.Record, n)
	var all sync.WaitGroup
	for i := range records {
		store := []guard.Store{f.Store, f.Replica}[i%2]
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
