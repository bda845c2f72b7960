package memory

import (
	"bytes"
	"context"
	"sync"

	"example.com/orders/internal/idempotency"
)

// Keys is the store of the idempotency guard.
type Keys struct{ s *Store }

// Keys gives the store of the guard.
func (s *Store) Keys() *Keys { return &Keys{s} }

// Once claims the key, runs the command and keeps its result.
func (k *Keys) Once(
	ctx context.Context, r idempotency.Request, run func(context.Context) (idempotency.Result, error),
) (idempotency.Record, bool, error) {
	claimed := k.s.held.take(r.ID)
	if claimed {
		defer k.s.held.release(r.ID)
	}
	if rec, found, _ := k.Find(ctx, r.ID); found {
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
		rec = copyRecord(idempotency.Record{
			Request: r, Response: result.Response, CreatedAt: t.now, ExpiresAt: stamp(t.now.Add(result.TTL)),
		})
		t.records[r.ID] = copyRecord(rec)
		return nil
	})
	return rec, false, err
}

// Find gives the record of a key that has not expired.
func (k *Keys) Find(_ context.Context, id idempotency.ID) (idempotency.Record, bool, error) {
	rec, found := k.s.committed.Load().records[id]
	if !found || !k.s.now().Before(rec.ExpiresAt) {
		return idempotency.Record{}, false, nil
	}
	return copyRecord(rec), true, nil
}

// DeleteExpired drops at most limit expired records and tells how many it dropped.
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

// held is the keys whose first request runs. It is no part of the state: nothing has
// to wait for a transaction to learn that a key is taken.
type held struct {
	sync.Mutex
	keys map[idempotency.ID]bool
}

func (h *held) take(id idempotency.ID) bool {
	h.Lock()
	defer h.Unlock()
	if h.keys[id] {
		return false
	}
	if h.keys == nil {
		h.keys = map[idempotency.ID]bool{}
	}
	h.keys[id] = true
	return true
}

func (h *held) release(id idempotency.ID) {
	h.Lock()
	defer h.Unlock()
	delete(h.keys, id)
}
