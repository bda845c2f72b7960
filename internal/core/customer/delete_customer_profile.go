package customer

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
)

// DeleteCustomerProfile deletes the profile, and with it all personal data that the
// service holds about the customer. Orders and ledger entries remain: they name the
// customer by id.
//
// A missing profile is no refusal: a client that lost the first response retries and
// gets the result it asked for. Refusal: forbidden_resource.
func (s *Service) DeleteCustomerProfile(ctx context.Context, actor core.Actor, customerID string) error {
	if _, err := authorise(actor, customerID); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Profiles.Lock(ctx, customerID)
		if errors.Is(err, core.ErrNotFound) {
			return nil // no change, so no audit entry
		}
		if err != nil {
			return err
		}
		if err := tx.Profiles.Delete(ctx, customerID); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "DeleteCustomerProfile",
			resource(customerID), auditMetadata(customerID))
	})
}
