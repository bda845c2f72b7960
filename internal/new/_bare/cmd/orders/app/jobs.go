package app

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/config"
	"example.com/orders/migrations"
)

// jobConns is the size of the connection pool of the jobs and the relay.
const jobConns = 4

// keepPublished is how long published events stay in the outbox, for people who
// investigate.
const keepPublished = 24 * time.Hour

func (a *App) jobsConfig(cfg config.Config, log zerolog.Logger) jobs.Config {
	db := a.jobDB
	return jobs.Config{
		Pool: db.Pool(), Schema: migrations.RiverSchema, Log: log, PollOnly: cfg.Pooled(), Tracer: a.traces.Tracer(),
		Worked: a.metrics.JobWorked, Removed: a.metrics.RowsRemoved,
		CleanIdempotencyRecords: jobs.BatchJob{Run: db.Keys().DeleteExpired, Removes: true},
		CleanProcessedMessages:  jobs.BatchJob{Run: db.DeleteOldMessages, Removes: true},
		CleanOutbox: jobs.BatchJob{Removes: true, Run: func(ctx context.Context, limit int) (int, error) {
			return db.Outbox().DeletePublished(ctx, keepPublished, limit)
		}},
	}
}
