package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/invariants"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

// admitLosses removes from the facts everything outside that belongs to lost commits:
// events, charges and messages.
func (f *facts) admitLosses(ctx context.Context, counters *world.Counters) error {
	events, err := f.lostEvents(ctx)
	if err != nil {
		return err
	}
	payments, err := f.texts(ctx, `SELECT 'payment-' || uuid FROM payment`)
	if err != nil {
		return err
	}
	processed, err := f.texts(ctx, `SELECT message_id FROM processed_message`)
	if err != nil {
		return err
	}
	if err := f.admitRefunds(ctx, counters); err != nil {
		return err
	}
	charges, messages := len(f.charges), len(f.Warehouse.Good)
	maps.DeleteFunc(f.charges, func(payment string, charge fakestripe.Charge) bool {
		return charge.Count == 1 && !slices.Contains(payments, payment)
	})
	maps.DeleteFunc(f.Warehouse.Good, func(id string, _ clients.Restocked) bool {
		_, before := f.Warehouse.Acknowledged[id]
		return before && !slices.Contains(processed, id)
	})
	counters.Add("events of lost commits", events)
	counters.Add("charges of lost payments", charges-len(f.charges))
	counters.Add("messages lost", messages-len(f.Warehouse.Good))
	return nil
}

// admitRefunds removes the provider's refunds that have lost their database row.
func (f *facts) admitRefunds(ctx context.Context, counters *world.Counters) error {
	ours, err := invariants.CapturedByCard(ctx, f.db)
	if err != nil {
		return err
	}
	for payment, charge := range f.charges {
		if own, known := ours[payment]; known && own.Refunded < charge.Refunded {
			charge.Refunded = own.Refunded
			f.charges[payment] = charge
			counters.Add("charges with lost refunds", 1)
		}
	}
	return nil
}

// forgetBalances removes customer accounts from attempts that ended before a failover:
// orders change these accounts, and their ledger may be lost.
func forgetBalances(attempts []history.Attempt) {
	var failover time.Duration
	for _, a := range attempts {
		if a.Operation == history.Failover {
			failover = a.Start
		}
	}
	forget(attempts, func(a history.Attempt) bool {
		return a.End < failover && !slices.Contains(clients.Savers, strings.TrimSuffix(a.Account, " RUB"))
	})
}

// forget removes the account from some attempts.
func forget(attempts []history.Attempt, which func(history.Attempt) bool) {
	for i, a := range attempts {
		if which(a) {
			attempts[i].Account, attempts[i].Change, attempts[i].After = "", 0, nil
		}
	}
}

// lostEvents removes and counts events that are not in the outbox. Event names are
// unique in a stream.
func (f *facts) lostEvents(ctx context.Context) (lost int, err error) {
	known, err := f.texts(ctx, `SELECT event_id::text FROM outbox`)
	if err != nil {
		return 0, err
	}
	names := map[string]bool{}
	var kept [][]byte
	for _, body := range f.events {
		var e struct{ ID string }
		if err := json.Unmarshal(body, &e); err != nil {
			return 0, fmt.Errorf("read an event: %w", err)
		}
		if !slices.Contains(known, e.ID) && !names[e.ID] {
			lost++
		} else {
			kept = append(kept, body)
		}
		names[e.ID] = true
	}
	f.events = kept
	return lost, nil
}
