package memory

import (
	"bytes"
	"context"
	"sync"

	"example.com/orders/internal/idempotency"
)

// Keys implements [idempotency.LookupStore].
type Keys struct{ s *Store }

// Keys returns the store of the guard.
func (s *Store) Keys() *Keys { return &Keys{s} }

// Execute claims the key, runs the command and stores its result in one transaction.
func (k *Keys) Execute(
	ctx context.Context, c idempotency.Claim, run idempotency.Command,
) (idempotency.Record, bool, error) {
	claimed := k.s.inUse.claim(c.ID)
	if claimed {
		defer k.s.inUse.release(c.ID)
	}
	if rec, found := k.find(c.ID); found {
		return rec, true, nil
	}
	if !claimed {
		return idempotency.Record{}, false, idempotency.ErrInProgress
	}
	var rec idempotency.Record
	err := k.s.transact(ctx, func(ctx context.Context, t *tx) error {
		result, err := run(ctx)
		if err != nil {
			return err
		}
		if result.Refused {
			t.discard()
		}
		rec = copyRecord(result.Record(c, t.now))
		t.records[c.ID] = copyRecord(rec)
		return nil
	})
	return rec, false, err
}

// Lookup returns the record of a key, or [idempotency.ErrInProgress].
func (k *Keys) Lookup(_ context.Context, id idempotency.ID) (idempotency.Record, bool, error) {
	running := k.s.inUse.has(id)
	rec, found := k.find(id)
	if running && !found {
		return rec, false, idempotency.ErrInProgress
	}
	return rec, found, nil
}

// find returns the record of a key that has not expired.
func (k *Keys) find(id idempotency.ID) (idempotency.Record, bool) {
	rec, found := k.s.committed.Load().records[id]
	if !found || !k.s.now().Before(rec.ExpiresAt) {
		return idempotency.Record{}, false
	}
	rec = copyRecord(rec)
	rec.Spent = !k.s.now().Before(rec.ReplayedUntil)
	return rec, true
}

// DeleteExpired deletes at most limit expired records and returns how many it deleted.
func (k *Keys) DeleteExpired(ctx context.Context, limit int) (int, error) {
	deleted := 0
	err := k.s.transact(ctx, func(_ context.Context, t *tx) error {
		deleted = 0
		for id, rec := range t.records {
			if deleted < limit && !t.now.Before(rec.ExpiresAt) {
				delete(t.records, id)
				deleted++
			}
		}
		return nil
	})
	return deleted, err
}

func copyRecord(rec idempotency.Record) idempotency.Record {
	rec.Body = bytes.Clone(rec.Body)
	return rec
}

// inUse is the set of keys whose first request is running. It is not part of the state,
// so that a duplicate need not wait for a transaction.
type inUse struct {
	mu   sync.Mutex
	keys map[idempotency.ID]bool
}

// claim reports whether the key was free, and is the caller's now.
func (u *inUse) claim(id idempotency.ID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.keys[id] {
		return false
	}
	if u.keys == nil {
		u.keys = map[idempotency.ID]bool{}
	}
	u.keys[id] = true
	return true
}

func (u *inUse) has(id idempotency.ID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.keys[id]
}

func (u *inUse) release(id idempotency.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.keys, id)
}
