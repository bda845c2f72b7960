package postgres

import (
	"context"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
)

// queries are the generated queries.
type queries = dbsqlc.Queries

// find runs a query that commands cannot share.
func find[P, R any](
	ctx context.Context, s *session, query func(*queries, context.Context, P) (R, error), params P,
) (found R, err error) {
	err = s.load(ctx, pgtx.Into(&found, query, params))
	return found, err
}

// list is find for rows that are converted.
func list[P, R, T any](
	ctx context.Context, s *session, query func(*queries, context.Context, P) ([]R, error), params P,
	convert func(R) (T, error),
) ([]T, error) {
	rows, err := find(ctx, s, query, params)
	if err != nil {
		return nil, err
	}
	converted := make([]T, len(rows))
	for i, row := range rows {
		if converted[i], err = convert(row); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

// one is list for a row that must exist.
func one[P, R, T any](
	ctx context.Context, s *session, query func(*queries, context.Context, P) ([]R, error), params P,
	convert func(R) (T, error),
) (found T, err error) {
	all, err := list(ctx, s, query, params, convert)
	if err != nil {
		return found, err
	}
	if len(all) == 0 {
		return found, core.ErrNotFound
	}
	return all[0], nil
}

// nullIfZero returns NULL for a zero id or text.
func nullIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// valueOf returns the zero value for NULL.
func valueOf[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

// nullIfZeroTime returns NULL for the zero time.
func nullIfZeroTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
