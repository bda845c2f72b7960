package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/core/customer"
)

// profiles implements [customer.Profiles].
type profiles struct{ tx *session }

// Get loads a profile.
func (s profiles) Get(ctx context.Context, customerID string) (*customer.Profile, error) {
	return fetch.One(ctx, s.tx, (*queries).ProfileOf, customerID, profileOf)
}

// Lock locks and loads a profile.
func (s profiles) Lock(ctx context.Context, customerID string) (*customer.Profile, error) {
	return fetch.One(ctx, s.tx, (*queries).LockProfile, customerID, profileOf)
}

// Save inserts or updates a profile.
func (s profiles) Save(ctx context.Context, p *customer.Profile) error {
	if p.New {
		return s.tx.Writes().InsertProfile(ctx, dbsqlc.InsertProfileParams{
			CustomerID: p.CustomerID, FullName: p.FullName, Email: p.Email, Phone: p.Phone,
			CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		})
	}
	return s.tx.Writes().UpdateProfile(ctx, dbsqlc.UpdateProfileParams{
		CustomerID: p.CustomerID, FullName: p.FullName, Email: p.Email, Phone: p.Phone, UpdatedAt: p.UpdatedAt,
	})
}

// Delete deletes a profile.
func (s profiles) Delete(ctx context.Context, customerID string) error {
	return s.tx.Writes().DeleteProfile(ctx, customerID)
}

func profileOf(row dbsqlc.CustomerProfile) (*customer.Profile, error) {
	return &customer.Profile{
		CustomerID: row.CustomerID, FullName: row.FullName, Email: row.Email, Phone: row.Phone,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}, nil
}
