package entry

import (
	"context"

	"example.com/orders/internal/core"
)

// CreateEntry is the command to record an amount.
type CreateEntry struct {
	Amount      core.Money
	Description string
	Key         string
}

// CreateEntry records an amount, and reports whether the same operation did so before; then
// it changes nothing and returns that entry (AUTH-19, second line of defence).
//
// Refusals: validation_failed, idempotency_key_reused.
func (s *Service) CreateEntry(ctx context.Context, actor core.Actor, cmd CreateEntry) (e *Entry, repeated bool, err error) {
	if cmd.Amount.IsZero() {
		return nil, false, core.InvalidField("/amount/amount", "amount must be greater than zero")
	}
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		e, err = tx.Entries.CreatedBy(ctx, by)
		if repeated = e != nil; repeated || err != nil {
			return e.repeats(cmd, err)
		}
		e = &Entry{Amount: cmd.Amount, Description: cmd.Description, CreatedBy: by, CreatedAt: tx.Now}
		if e.ID, err = tx.IDs.NextID(ctx, core.EntryIDs); err != nil {
			return err
		}
		if err := tx.Entries.Add(ctx, e); err != nil {
			return err
		}
		return tx.Outbox.Add(ctx, e.created())
	})
	return e, repeated, err
}

// repeats refuses a command that asks for something else than the operation did before.
func (e *Entry) repeats(cmd CreateEntry, err error) error {
	if err == nil && (!e.Amount.Equal(cmd.Amount) || e.Description != cmd.Description) {
		return core.KeyReused()
	}
	return err
}
