package app

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/observe/metrics"
)

// measure registers the metrics that are read on each scrape.
func (a *App) measure() {
	a.metrics.Database(a.readMetrics)
	a.metrics.Log(func() uint64 { return a.lines.Dropped() })
	a.metrics.Issuer(a.tokens.Keys)
	a.metrics.Ready(func() bool { return a.ready(context.Background()) == nil })
	a.metrics.Pool("requests", readPool(a.db.Pool(), a.db.Places.Unanswered))
	a.metrics.Pool("jobs", readPool(a.jobDB.Pool(), a.jobDB.Places.Unanswered))
	a.metrics.Pool("webhooks", readPool(a.webhookDB.Pool(), a.webhookDB.Places.Unanswered))
	a.metrics.Pool("readiness", readPool(a.readyDB.Pool(), a.readyDB.Places.Unanswered))
	for _, kind := range jobs.Kinds {
		a.metrics.Job(kind)
	}
}

func readPool(pool *pgxpool.Pool, inDoubt func() int) func() metrics.Pool {
	return func() metrics.Pool {
		s := pool.Stat()
		return metrics.Pool{
			Idle: s.IdleConns(), Used: s.AcquiredConns(), Opening: s.ConstructingConns(), Max: s.MaxConns(),
			InDoubt:  int32(inDoubt()),
			Acquires: s.AcquireCount(), Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
		}
	}
}

// readMetrics reads the database metrics on a job connection.
func (a *App) readMetrics(ctx context.Context) (metrics.Database, error) {
	state, err := a.jobDB.State(ctx)
	if err != nil {
		return metrics.Database{}, err
	}
	events, oldest, err := a.jobDB.Outbox().Backlog(ctx)
	if err != nil {
		return metrics.Database{}, err
	}
	deliveries, disabled, due, err := a.jobDB.Deliveries().Backlog(ctx)
	if err != nil {
		return metrics.Database{}, err
	}
	expired, err := a.jobDB.Keys().Expired(ctx)
	if err != nil {
		return metrics.Database{}, err
	}
	mismatches, age, err := a.jobDB.ReconciliationResult(ctx)
	if err != nil {
		return metrics.Database{}, err
	}
	answerDue, err := a.jobDB.NextDispute(ctx)
	if err != nil {
		return metrics.Database{}, err
	}
	queued, err := a.readJobs(ctx)
	if err != nil {
		return metrics.Database{}, err
	}
	tables, err := a.readTables(ctx)
	if err != nil {
		return metrics.Database{}, err
	}
	return metrics.Database{
		Writable: !state.ReadOnly, OutboxEvents: events, OutboxOldest: oldest, ExpiredRecords: expired,
		Deliveries: deliveries, DisabledEndpoints: disabled, DeliveriesOldest: due,
		Jobs: queued, Tables: tables,
		Mismatches: mismatches, ReconciliationAge: age, AnswerDue: answerDue,
	}, nil
}

func (a *App) readJobs(ctx context.Context) ([]metrics.Jobs, error) {
	counted, err := a.jobDB.CountJobs(ctx, jobs.Kinds)
	found := make([]metrics.Jobs, len(counted))
	for i, j := range counted {
		found[i] = metrics.Jobs(j)
	}
	return found, err
}

func (a *App) readTables(ctx context.Context) ([]metrics.Table, error) {
	measured, err := a.jobDB.Tables(ctx)
	found := make([]metrics.Table, len(measured))
	for i, table := range measured {
		found[i] = metrics.Table(table)
	}
	return found, err
}
