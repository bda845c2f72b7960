package app

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/core/payment"
	"example.com/orders/migrations"
)

// jobConns is the size of the connection pool of the jobs and the relay.
const jobConns = 4

// keepPublished is how long published events stay in the outbox, for people who
// investigate.
const keepPublished = 24 * time.Hour

func (a *App) jobsConfig(core useCases, gateway payment.Gateway, log zerolog.Logger) jobs.Config {
	db := a.jobDB
	reconciliation := &payment.Reconciliation{Store: db, Payments: core.payments, Gateway: gateway, Now: time.Now}
	cfg := jobs.Config{
		Pool: db.Pool(), Schema: migrations.RiverSchema, Log: log,
		ReleaseExpiredReservations: jobs.BatchJob{Run: core.orders.ReleaseExpiredReservations},
		CleanIdempotencyRecords:    jobs.BatchJob{Run: db.Keys().DeleteExpired},
		CleanProcessedMessages:     jobs.BatchJob{Run: db.DeleteOldMessages},
		CleanOutbox: jobs.BatchJob{Run: func(ctx context.Context, limit int) (int, error) {
			return db.Outbox().DeletePublished(ctx, keepPublished, limit)
		}},
		Reconcile: a.reconcile(reconciliation, log),
	}
	if gateway != nil {
		cfg.SettlePayment, cfg.SettleRefund = core.payments.SettlePayment, core.payments.SettleRefund
	}
	return cfg
}

// reconcile returns the job that compares the ledger with itself and with the card
// provider. It logs each mismatch and sets the metric that must be 0.
func (a *App) reconcile(r *payment.Reconciliation, log zerolog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		mismatches, err := r.Run(ctx)
		if err != nil {
			return err
		}
		a.metrics.Reconciled(len(mismatches))
		for _, m := range mismatches {
			log.Error().Str("resource", m.Resource).Str("detail", m.Detail).Msg("reconciliation mismatch")
		}
		return nil
	}
}
