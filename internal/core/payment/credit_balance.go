package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// CreditBalance adds money to a customer's balance. The flag tells that the same
// operation had done so before, and nothing moved now (AUTH-19, the second line).
//
// Refusals: forbidden_resource, validation_failed (no amount, or too large a
// balance), idempotency_key_reused.
func (s *Service) CreditBalance(ctx context.Context, actor core.Actor, cmd ChangeBalance) (*LedgerEntry, bool, error) {
	return s.move(ctx, actor, "CreditBalance", EntryCredit, cmd, func(b *Balance) (*LedgerEntry, error) {
		return b.deposit(EntryCredit, WorldAccount, cmd.Amount)
	})
}
