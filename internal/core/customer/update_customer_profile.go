package customer

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
)

// UpdateCustomerProfile replaces the profile. Refusal: forbidden_resource.
func (s *Service) UpdateCustomerProfile(ctx context.Context, actor core.Actor, p Profile) (*Profile, error) {
	if _, err := authorise(actor, p.CustomerID); err != nil {
		return nil, err
	}
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Profiles.Lock(ctx, p.CustomerID)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
		p.New, p.UpdatedAt = err != nil, tx.Now
		if err := tx.Profiles.Save(ctx, &p); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "UpdateCustomerProfile", resource(p.CustomerID), nil)
	})
	return &p, err
}
