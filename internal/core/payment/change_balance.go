package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// ChangeBalance asks to change a customer's balance from outside of any order.
type ChangeBalance struct {
	CustomerID  string
	Amount      core.Money
	Description string
	Reference   string
	Key         string
}

// move is what CreditBalance and ChargeBalance share: load, change by the given
// rule, save, once for each operation.
func (s *Service) move(
	ctx context.Context, actor core.Actor, action string, kind EntryKind, cmd ChangeBalance,
	change func(*Balance) (*LedgerEntry, error),
) (*LedgerEntry, bool, error) {
	if _, err := allowMoving(actor); err != nil {
		return nil, false, err
	}
	if cmd.Amount.IsZero() {
		return nil, false, core.InvalidField("/amount/amount", "must be greater than zero")
	}
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var m *LedgerEntry
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		balance, prior, err := tx.Balances.Lock(ctx, cmd.CustomerID, cmd.Amount.Currency(), by)
		if err != nil {
			return err
		}
		if m, repeated = prior, prior != nil; repeated {
			return m.repeats(kind, cmd)
		}
		if m, err = change(balance); err != nil {
			return err
		}
		m.Description, m.Reference, m.By = cmd.Description, cmd.Reference, by
		if err := tx.saveEntry(ctx, balance, m); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.Journal, actor, action, resource(cmd.CustomerID), nil)
	})
	return m, repeated, err
}

// repeats tells whether a entry that exists is the one that cmd asks for.
func (m *LedgerEntry) repeats(kind EntryKind, cmd ChangeBalance) error {
	if m.Kind != kind || !m.Amount.Equal(cmd.Amount) || m.Description != cmd.Description || m.Reference != cmd.Reference {
		return core.KeyReused()
	}
	return nil
}
