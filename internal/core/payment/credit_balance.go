package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// CreditBalance adds money to a customer's balance. It reports whether the same
// operation did so before; then it changes nothing (AUTH-19, second line of defence).
//
// Refusals: forbidden_resource, validation_failed (an amount of zero, or a balance that
// would become too large), reference_taken, idempotency_key_reused.
func (s *Service) CreditBalance(ctx context.Context, actor core.Actor, cmd ChangeBalance) (*LedgerEntry, bool, error) {
	return s.changeBalance(ctx, actor, "CreditBalance", EntryCredit, cmd, func(b *Balance) (*LedgerEntry, error) {
		return b.deposit(EntryCredit, WorldAccount, cmd.Amount)
	})
}
