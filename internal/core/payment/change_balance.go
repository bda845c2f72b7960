package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// ChangeBalance is the command to change a balance where no order is involved.
type ChangeBalance struct {
	CustomerID  string
	Amount      core.Money
	Description string
	// Reference is an optional id from the caller. It is unique per customer and entry
	// kind.
	Reference string
	Key       string
}

// Validate refuses an amount of zero.
func (cmd ChangeBalance) Validate() error {
	if cmd.Amount.IsZero() {
		return amountOfZero()
	}
	return nil
}

func amountOfZero() error {
	return core.InvalidField("/amount/amount", "must be greater than zero")
}

// CreditBalance adds money to a customer's balance. If the same operation already did
// so, it only returns that entry and true (AUTH-19, second line of defence).
//
// Refusals: forbidden_resource, validation_failed (a zero amount, or a balance above
// the maximum), reference_taken, idempotency_key_reused.
func (s *Service) CreditBalance(ctx context.Context, actor core.Actor, cmd ChangeBalance) (*LedgerEntry, bool, error) {
	return s.changeBalance(ctx, actor, "CreditBalance", EntryCredit, cmd, func(b *Balance) (*LedgerEntry, error) {
		e, err := b.deposit(EntryCredit, WorldAccount, cmd.Amount)
		return e, atAmount(err)
	})
}

// ChargeBalance takes money from a customer's balance, which never becomes negative. If
// the same operation already did so, it only returns that entry and true (AUTH-19,
// second line of defence).
//
// Refusals: forbidden_resource, validation_failed (a zero amount), reference_taken,
// insufficient_funds, idempotency_key_reused.
func (s *Service) ChargeBalance(ctx context.Context, actor core.Actor, cmd ChangeBalance) (*LedgerEntry, bool, error) {
	return s.changeBalance(ctx, actor, "ChargeBalance", EntryCharge, cmd, func(b *Balance) (*LedgerEntry, error) {
		return b.withdraw(EntryCharge, WorldAccount, cmd.Amount)
	})
}

// changeBalance locks the balance, applies change, and saves the result, once per
// operation.
func (s *Service) changeBalance(
	ctx context.Context, actor core.Actor, action string, kind EntryKind, cmd ChangeBalance,
	change func(*Balance) (*LedgerEntry, error),
) (*LedgerEntry, bool, error) {
	if _, err := authoriseChanging(actor, cmd.CustomerID); err != nil {
		return nil, false, err
	}
	if err := cmd.Validate(); err != nil {
		return nil, false, err
	}
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var e *LedgerEntry
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		locked, err := tx.Balances.Lock(ctx, BalanceQuery{
			CustomerID: cmd.CustomerID, Currency: cmd.Amount.Currency(), Kind: kind, Reference: cmd.Reference, By: by,
		})
		if err != nil {
			return err
		}
		if e, repeated = locked.Prior, locked.Prior != nil; repeated {
			return e.repeats(kind, cmd)
		}
		if locked.ReferenceTaken {
			return core.ReferenceTaken("the customer already has a " + string(kind))
		}
		if e, err = change(locked.Balance); err != nil {
			return err
		}
		e.Description, e.Reference, e.By = cmd.Description, cmd.Reference, by
		if err := tx.saveEntry(ctx, locked.Balance, e); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, action, resource(cmd.CustomerID), e.auditMetadata())
	})
	return e, repeated, err
}

// repeats refuses a retry that asks for a different change than the first request did.
func (e *LedgerEntry) repeats(kind EntryKind, cmd ChangeBalance) error {
	if e.Kind != kind || !e.Amount.Equal(cmd.Amount) || e.Description != cmd.Description || e.Reference != cmd.Reference {
		return core.KeyReused()
	}
	return nil
}
