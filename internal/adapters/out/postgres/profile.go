package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
)

// profiles implements [customer.Profiles].
type profiles struct{ t *tx }

// Get loads a profile.
func (s profiles) Get(ctx context.Context, customerID string) (*customer.Profile, error) {
	return s.one(ctx, func(q *dbsqlc.Queries) ([]dbsqlc.CustomerProfile, error) { return q.ProfileOf(ctx, customerID) })
}

// Lock locks and loads a profile.
func (s profiles) Lock(ctx context.Context, customerID string) (*customer.Profile, error) {
	return s.one(ctx, func(q *dbsqlc.Queries) ([]dbsqlc.CustomerProfile, error) { return q.LockProfile(ctx, customerID) })
}

func (s profiles) one(ctx context.Context, find func(*dbsqlc.Queries) ([]dbsqlc.CustomerProfile, error)) (*customer.Profile, error) {
	var rows []dbsqlc.CustomerProfile
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = find(q)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, core.ErrNotFound
	}
	row := rows[0]
	return &customer.Profile{
		CustomerID: row.CustomerID, FullName: row.FullName, Email: row.Email, Phone: row.Phone,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}, nil
}

// Save inserts or updates a profile.
func (s profiles) Save(ctx context.Context, p *customer.Profile) error {
	if p.New {
		return s.t.writes().InsertProfile(ctx, dbsqlc.InsertProfileParams{
			CustomerID: p.CustomerID, FullName: p.FullName, Email: p.Email, Phone: p.Phone,
			CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		})
	}
	return s.t.writes().UpdateProfile(ctx, dbsqlc.UpdateProfileParams{
		CustomerID: p.CustomerID, FullName: p.FullName, Email: p.Email, Phone: p.Phone, UpdatedAt: p.UpdatedAt,
	})
}

// Delete deletes a profile.
func (s profiles) Delete(ctx context.Context, customerID string) error {
	return s.t.writes().DeleteProfile(ctx, customerID)
}
