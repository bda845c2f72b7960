package memory

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
)

// profiles implements [customer.Profiles].
type profiles struct{ *tx }

// Get returns a profile.
func (t profiles) Get(_ context.Context, customerID string) (*customer.Profile, error) {
	p, found := t.profiles[customerID]
	if !found {
		return nil, core.ErrNotFound
	}
	return copyOf(p), nil
}

// Lock returns a profile. The transaction already has exclusive access to everything.
func (t profiles) Lock(ctx context.Context, customerID string) (*customer.Profile, error) {
	return t.Get(ctx, customerID)
}

// Save inserts or updates a profile.
func (t profiles) Save(_ context.Context, p *customer.Profile) error {
	if t.profiles[p.CustomerID] != nil && p.New {
		return duplicate("profile of one customer")
	}
	stored := copyOf(p)
	stored.New, stored.CreatedAt, stored.UpdatedAt = false, stamp(p.CreatedAt), stamp(p.UpdatedAt)
	t.profiles[p.CustomerID] = stored
	return nil
}

// Delete deletes a profile.
func (t profiles) Delete(_ context.Context, customerID string) error {
	delete(t.profiles, customerID)
	return nil
}
