package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// ChargeBalance takes money from a customer's balance, which never goes below zero.
// The flag tells that the same operation had done so before, and nothing moved now
// (AUTH-19, the second line).
//
// Refusals: forbidden_resource, validation_failed (no amount), insufficient_funds,
// idempotency_key_reused.
func (s *Service) ChargeBalance(ctx context.Context, actor core.Actor, cmd ChangeBalance) (*LedgerEntry, bool, error) {
	return s.move(ctx, actor, "ChargeBalance", EntryCharge, cmd, func(b *Balance) (*LedgerEntry, error) {
		return b.withdraw(EntryCharge, WorldAccount, cmd.Amount)
	})
}
