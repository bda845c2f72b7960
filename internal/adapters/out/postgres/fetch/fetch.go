// Package fetch runs generated queries in a transaction, and converts their rows.
package fetch

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
)

// Session is one command's view of a transaction.
type Session interface {
	// Load runs reads that commands cannot share.
	Load(ctx context.Context, reads ...pgtx.Read) error
}

// Find runs a query that commands cannot share.
func Find[P, R any](
	ctx context.Context, s Session, query func(*dbsqlc.Queries, context.Context, P) (R, error), params P,
) (found R, err error) {
	err = s.Load(ctx, pgtx.Into(&found, query, params))
	return found, err
}

// List is [Find] for rows that are converted.
func List[P, R, T any](
	ctx context.Context, s Session, query func(*dbsqlc.Queries, context.Context, P) ([]R, error), params P,
	convert func(R) (T, error),
) ([]T, error) {
	rows, err := Find(ctx, s, query, params)
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

// One is [List] for a row that must exist.
func One[P, R, T any](
	ctx context.Context, s Session, query func(*dbsqlc.Queries, context.Context, P) ([]R, error), params P,
	convert func(R) (T, error),
) (found T, err error) {
	all, err := List(ctx, s, query, params, convert)
	if err != nil {
		return found, err
	}
	if len(all) == 0 {
		return found, core.ErrNotFound
	}
	return all[0], nil
}
