package memory

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
)

// profiles implements [customer.Profiles].
type profiles struct{ *tx }

// Get gives a profile.
func (t profiles) Get(_ context.Context, customerID string) (*customer.Profile, error) {
	p, found := t.profiles[customerID]
	if !found {
		return nil, core.ErrNotFound
	}
	return copyOf(p), nil
}

// Save keeps a profile.
func (t profiles) Save(_ context.Context, p *customer.Profile) error {
	kept := copyOf(p)
	kept.UpdatedAt = stamp(p.UpdatedAt)
	t.profiles[p.CustomerID] = kept
	return nil
}
