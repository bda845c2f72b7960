package guardtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/kit/guard"
)

func replaysTheFirstResponse(t *testing.T, f Fixture) {
	c := claim("key-1")
	first := f.mustRun(t, c, f.writes(created))
	wantRecord(t, first, created.Record(c, first.CreatedAt))
	f.wantReplay(t, c, first)
	f.wantEffects(t, 1)
}

func looksUpWhatBecameOfAKey(t *testing.T, f Fixture) {
	store, ok := f.Store.(guard.LookupStore)
	if !ok {
		t.Skip("the store has no look-up")
	}
	c := claim("key-1")
	first := f.mustRun(t, c, func(ctx context.Context) (guard.Result, error) {
		if _, found, err := store.Lookup(t.Context(), c.ID); found || !errors.Is(err, guard.ErrInProgress) {
			t.Errorf("while the command runs: found = %v, %v; want ErrInProgress", found, err)
		}
		return created, f.Write(ctx)
	})
	if rec, found, err := store.Lookup(t.Context(), c.ID); err != nil || !found {
		t.Errorf("afterwards: found = %v, %v", found, err)
	} else {
		wantRecord(t, rec, first)
	}
	f.wantNoRecord(t, claim("key-2").ID)
}

func commitsTogether(t *testing.T, f Fixture) {
	c := claim("key-1")
	first := f.mustRun(t, c, func(ctx context.Context) (guard.Result, error) {
		err := errors.Join(f.Write(ctx), f.Read(ctx))
		f.wantEffects(t, 0)
		return created, err
	})
	f.wantEffects(t, 1)
	f.wantReplay(t, c, first)
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
	first := f.mustRun(t, c, func(ctx context.Context) (guard.Result, error) {
		return refused, errors.Join(f.Write(ctx), f.Read(ctx), f.Write(ctx))
	})
	f.wantEffects(t, 0)
	f.wantReplay(t, c, first)
}

func keepsNoFailure(t *testing.T, f Fixture) {
	c := claim("key-1")
	_, replayed, err := f.Store.Execute(t.Context(), c, func(ctx context.Context) (guard.Result, error) {
		return created, errors.Join(f.Write(ctx), f.Read(ctx), f.Write(ctx), errFailed)
	})
	if !errors.Is(err, errFailed) || replayed {
		t.Errorf("replayed = %v, %v; want the error of the command", replayed, err)
	}
	f.wantFree(t, c)
}

func keepsNothingOfAPanic(t *testing.T, f Fixture) {
	c := claim("key-1")
	var err error
	func() {
		defer func() {
			if recover() == nil && err == nil { // a store returns it if commands share a transaction
				t.Error("the panic was swallowed")
			}
		}()
		_, _, err = f.Store.Execute(t.Context(), c, func(ctx context.Context) (guard.Result, error) {
			_ = errors.Join(f.Write(ctx), f.Read(ctx))
			panic("a bug")
		})
	}()
	f.wantFree(t, c)
}

func reportsInProgress(t *testing.T, f Fixture) {
	c := claim("key-1")
	first := f.mustRun(t, c, func(context.Context) (guard.Result, error) {
		for name, store := range map[string]guard.Store{"this process": f.Store, "a replica": f.Replica} {
			// A second request, with a separate context.
			_, _, err := store.Execute(t.Context(), c, mustNotRun(t))
			if !errors.Is(err, guard.ErrInProgress) {
				t.Errorf("%s: %v, want ErrInProgress", name, err)
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
	f.wantNoRecord(t, yours.ID)
	f.mustRun(t, yours, f.writes(refused))
	f.wantReplay(t, mine, first)
}

func separatesCase(t *testing.T, f Fixture) {
	f.mustRun(t, claim("key-1"), f.writes(created))
	f.mustRun(t, claim("KEY-1"), f.writes(created))
	f.wantEffects(t, 2)
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
	f.mustRun(t, c, func(context.Context) (guard.Result, error) { return expired, nil })
	f.wantNoRecord(t, c.ID)
	second := f.mustRun(t, c, f.writes(created))
	f.wantReplay(t, c, second)
}

func expiresEverywhere(t *testing.T, f Fixture) {
	c, _ := f.remembered(t, func(short *guard.Result, d time.Duration) { short.TTL = d })
	second, replayed, err := f.Replica.Execute(t.Context(), c, f.writes(created))
	if err != nil || replayed {
		t.Fatalf("after its expiry: replayed = %v, %v", replayed, err)
	}
	f.wantReplay(t, c, second)
}

// The store returns the record of a spent key like any other. The guard refuses it.
func spendsKeys(t *testing.T, f Fixture) {
	c := claim("key-1")
	spent := refused
	spent.ReplayTTL = -time.Second
	first := f.mustRun(t, c, f.writes(spent))
	first.Spent = true
	f.wantReplay(t, c, first)
	if store, ok := f.Replica.(guard.LookupStore); ok {
		rec, found, err := store.Lookup(t.Context(), c.ID)
		if err != nil || !found {
			t.Errorf("the look-up: found = %v, %v; want the record", found, err)
		}
		wantRecord(t, rec, first)
	}
	f.wantEffects(t, 0)
}

func spendsKeysEverywhere(t *testing.T, f Fixture) {
	c, first := f.remembered(t, func(short *guard.Result, d time.Duration) { short.ReplayTTL = d })
	first.Spent = true
	f.wantReplay(t, c, first)
}

func keepsEmptyBodies(t *testing.T, f Fixture) {
	c := claim("key-1")
	noContent := guard.Result{Response: guard.Response{Status: 204}, TTL: time.Hour}
	first := f.mustRun(t, c, func(context.Context) (guard.Result, error) { return noContent, nil })
	f.wantReplay(t, c, first)
}

func runsOnceAmongMany(t *testing.T, f Fixture) {
	c := claim("key-1")
	var runs atomic.Int64
	count := func(ctx context.Context) (guard.Result, error) {
		err := f.Write(ctx)
		if err == nil { // a store may end a run early, to load for several commands at once
			runs.Add(1)
		}
		return created, err
	}
	records := f.atOnce(t, 12, func(store guard.Store) (guard.Record, error) {
		for {
			rec, _, err := store.Execute(t.Context(), c, count)
			if !errors.Is(err, guard.ErrInProgress) {
				return rec, err
			}
			time.Sleep(time.Millisecond) // poll as the guard does
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
	request := guard.Request{
		ID:      claim("key-1").ID,
		Content: guard.Content{Method: "POST", Segments: []string{"", "orders"}, Body: []byte(`{}`)},
	}
	records := f.atOnce(t, 12, func(store guard.Store) (guard.Record, error) {
		g := guard.Guard{Store: store, Wait: time.Minute, Timeout: time.Minute}
		rec, _, err := g.Do(t.Context(), request, f.writes(created))
		return rec, err
	})
	for _, rec := range records {
		wantRecord(t, rec, records[0])
	}
	f.wantEffects(t, 1)
}
