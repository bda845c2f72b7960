package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// ChargeBalance takes money from a customer's balance, which never becomes negative. It
// reports whether the same operation did so before; then it changes nothing (AUTH-19,
// second line of defence).
//
// Refusals: forbidden_resource, validation_failed (an amount of zero),
// reference_taken, insufficient_funds, idempotency_key_reused.
func (s *Service) ChargeBalance(ctx context.Context, actor core.Actor, cmd ChangeBalance) (*LedgerEntry, bool, error) {
	return s.changeBalance(ctx, actor, "ChargeBalance", EntryCharge, cmd, func(b *Balance) (*LedgerEntry, error) {
		return b.withdraw(EntryCharge, WorldAccount, cmd.Amount)
	})
}
