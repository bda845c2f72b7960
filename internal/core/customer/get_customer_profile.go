package customer

import (
	"context"

	"example.com/orders/internal/core"
)

// GetCustomerProfile returns a profile to its customer, or to an administrator
// (audited). Refusals: forbidden_resource, not_found.
func (s *Service) GetCustomerProfile(ctx context.Context, actor core.Actor, customerID string) (*Profile, error) {
	access, err := authorise(actor, customerID)
	if err != nil {
		return nil, err
	}
	var p *Profile
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if p, err = tx.Profiles.Get(ctx, customerID); err != nil {
			return core.RefusalOf(err, "profile")
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "GetCustomerProfile",
			resource(customerID), auditMetadata(customerID))
	})
	return p, err
}
