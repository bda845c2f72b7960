package migrations

import (
	"context"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
)

// UpFrom is [Up] for our schema alone, with other files.
func UpFrom(ctx context.Context, files fs.FS, databaseURL string) error {
	return run(ctx, files, databaseURL, up)
}

// Again calls run as a migration does, tries times and without a pause.
func Again(tries int, run func() error) error { return retryLocked(nil, tries, time.Nanosecond, run) }

// PrivilegesCost returns how much work PostgreSQL expects of the check of privileges.
func PrivilegesCost(ctx context.Context, conn *pgx.Conn) (cost float64, err error) {
	var plans []struct {
		Plan struct {
			Cost float64 `json:"Total Cost"`
		}
	}
	err = conn.QueryRow(ctx, "EXPLAIN (FORMAT json) "+privilegesQuery, grants, ServiceGroup, RiverSchema).Scan(&plans)
	for _, p := range plans {
		cost += p.Plan.Cost
	}
	return cost, err
}
