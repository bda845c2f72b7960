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
		before, err := tx.Profiles.Lock(ctx, p.CustomerID)
		if errors.Is(err, core.ErrNotFound) {
			before, err = &Profile{New: true, CreatedAt: tx.Now}, nil
		}
		if err != nil {
			return err
		}
		p.New, p.CreatedAt, p.UpdatedAt = before.New, before.CreatedAt, tx.Now
		if err := tx.Profiles.Save(ctx, &p); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "UpdateCustomerProfile", resource(p.CustomerID),
			auditMetadata(p.CustomerID).With("changed", p.changes(before)))
	})
	return &p, err
}
