package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// GetBalance returns a customer's balances, one per currency. Refusal:
// forbidden_resource.
func (s *Service) GetBalance(ctx context.Context, actor core.Actor, customerID string) ([]*Balance, error) {
	access, err := authoriseReading(actor, customerID)
	if err != nil {
		return nil, err
	}
	var balances []*Balance
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if balances, err = tx.Balances.Of(ctx, customerID); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "GetBalance",
			resource(customerID), auditMetadata(customerID))
	})
	return balances, err
}
