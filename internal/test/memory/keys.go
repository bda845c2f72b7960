package memory

import (
	"bytes"
	"context"

	"example.com/orders/kit/guard"
)

// Keys implements [guard.LookupStore].
type Keys struct{ s *Store }

// Keys returns the store of the guard.
func (s *Store) Keys() *Keys { return &Keys{s} }

// Execute claims the key, runs the command and stores the result in one transaction.
func (k *Keys) Execute(
	ctx context.Context, c guard.Claim, run guard.Command,
) (guard.Record, bool, error) {
	_, running := k.s.inUse.LoadOrStore(c.ID, true)
	if !running {
		defer k.s.inUse.Delete(c.ID)
	}
	if rec, found := k.find(c.ID); found {
		return rec, true, nil
	}
	if running {
		return guard.Record{}, false, guard.ErrInProgress
	}
	var rec guard.Record
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

// Lookup returns the record of a key, or [guard.ErrInProgress].
func (k *Keys) Lookup(_ context.Context, id guard.ID) (guard.Record, bool, error) {
	_, running := k.s.inUse.Load(id)
	rec, found := k.find(id)
	if running && !found {
		return rec, false, guard.ErrInProgress
	}
	return rec, found, nil
}

// find returns the record of a key that has not expired.
func (k *Keys) find(id guard.ID) (guard.Record, bool) {
	rec, found := k.s.committed.Load().records[id]
	if !found || !k.s.now().Before(rec.ExpiresAt) {
		return guard.Record{}, false
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

func copyRecord(rec guard.Record) guard.Record {
	rec.Body = bytes.Clone(rec.Body)
	return rec
}
