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
	var rows []dbsqlc.CustomerProfile
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = q.ProfileOf(ctx, customerID)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, core.ErrNotFound
	}
	p := customer.Profile(rows[0])
	p.UpdatedAt = p.UpdatedAt.UTC()
	return &p, nil
}

// Save writes a profile, new or changed.
func (s profiles) Save(ctx context.Context, p *customer.Profile) error {
	return s.t.writes().PutProfile(ctx, dbsqlc.PutProfileParams(*p))
}
