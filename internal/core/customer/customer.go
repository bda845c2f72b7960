// Package customer keeps who customers are: the only personal data of the service,
// which never enters logs, events or problem documents (AUTH-16).
package customer

import (
	"context"
	"errors"
	"time"

	"example.com/orders/internal/core"
)

// Profile is how a customer is called and reached.
type Profile struct {
	CustomerID string
	FullName   string
	Email      string
	Phone      string
	UpdatedAt  time.Time
}

// Store opens transactions; InTx commits when fn returns nil, and fn may run twice.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is what one transaction offers to the use cases of this package.
type Tx struct {
	// Now is when the transaction began, by the database's clock, in UTC.
	Now      time.Time
	Profiles Profiles
	Journal  core.Journal
}

// Profiles keeps profiles.
type Profiles interface {
	// Get loads a profile, or answers [core.ErrNotFound].
	Get(ctx context.Context, customerID string) (*Profile, error)
	// Save writes a profile, new or changed.
	Save(ctx context.Context, p *Profile) error
}

// Service is the use cases about customers.
type Service struct {
	Store Store
}

// GetCustomerProfile reads a profile for the customer, or for an administrator, whose
// read is audited. Refusals: forbidden_resource, not_found.
func (s *Service) GetCustomerProfile(ctx context.Context, actor core.Actor, customerID string) (*Profile, error) {
	access, err := allow(actor, customerID)
	if err != nil {
		return nil, err
	}
	var p *Profile
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if p, err = tx.Profiles.Get(ctx, customerID); errors.Is(err, core.ErrNotFound) {
			return core.NotFound("profile")
		}
		if err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.Journal, actor, access, "GetCustomerProfile", resource(customerID))
	})
	return p, err
}

// UpdateCustomerProfile makes a profile what it shall be from now on. Refusal:
// forbidden_resource.
func (s *Service) UpdateCustomerProfile(ctx context.Context, actor core.Actor, p Profile) (*Profile, error) {
	if _, err := allow(actor, p.CustomerID); err != nil {
		return nil, err
	}
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		p.UpdatedAt = tx.Now
		if err := tx.Profiles.Save(ctx, &p); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.Journal, actor, "UpdateCustomerProfile", resource(p.CustomerID), nil)
	})
	return &p, err
}
