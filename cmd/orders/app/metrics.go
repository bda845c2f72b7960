package app

import (
	"context"

	"example.com/orders/internal/telemetry"
	"example.com/orders/migrations"
)

// readMetrics reads what the metrics report of the database, on a connection of the
// jobs.
func (a *App) readMetrics(ctx context.Context) (telemetry.Database, error) {
	events, oldest, err := a.jobDB.Outbox().Backlog(ctx)
	if err != nil {
		return telemetry.Database{}, err
	}
	mismatches, age, err := a.jobDB.ReconciliationResult(ctx)
	if err != nil {
		return telemetry.Database{}, err
	}
	role, err := migrations.CheckPrivileges(ctx, a.jobDB.Pool())
	return telemetry.Database{
		OutboxEvents: events, OutboxOldest: oldest, Mismatches: mismatches, ReconciliationAge: age,
		ExcessPrivileges: len(role.Excess),
	}, err
}
