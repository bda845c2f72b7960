package app

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/core/payment/reconcile"
	"example.com/orders/internal/observe/metrics"
	"example.com/orders/migrations"
)

// reconcileEvery is the pause between two complete reconciliations.
const reconcileEvery = time.Hour

// jobConns is the pool size for jobs, provider events and the relay.
const jobConns = 4

// keepPublished is how long published events stay in the outbox for investigations.
const keepPublished = 24 * time.Hour

// keepDeliveries is how long deliveries stay for inspection and repetition: as long as the
// broker keeps their events.
const keepDeliveries = 7 * 24 * time.Hour

func (a *App) jobsConfig(run useCases, gateway cards.Gateway, cfg config.Config, log zerolog.Logger) jobs.Config {
	db := a.jobDB
	reconciliation := &reconcile.Service{
		Store: db, Progress: db, Every: reconcileEvery, Payments: run.payments, Gateway: gateway, Now: time.Now,
		Report: func(m payment.Mismatch) {
			log.Error().Str("resource", m.Resource).Str("detail", m.Detail).Msg("reconciliation mismatch")
		},
	}
	list := jobs.Config{
		Pool: db.Pool(), Schema: migrations.RiverSchema, Log: log, PollOnly: cfg.Pooled(), Tracer: a.traces.Tracer(),
		Worked: a.metrics.JobWorked, Removed: a.metrics.RowsRemoved,
		ReleaseExpiredReservations: jobs.BatchJob{Run: jobs.InOrder(run.orders.ReleaseExpiredReservations), Removes: true},
		RestoreIntents:             jobs.BatchJob{Run: a.restoreIntents(log)},
		CleanIdempotencyRecords:    jobs.BatchJob{Run: db.Keys().DeleteExpired, Removes: true},
		CleanProcessedMessages:     jobs.BatchJob{Run: db.DeleteOldMessages, Removes: true},
		CleanOutbox: jobs.BatchJob{Removes: true, Run: func(ctx context.Context, limit int) (int, error) {
			return db.Outbox().DeletePublished(ctx, keepPublished, limit)
		}},
		CleanWebhookDeliveries: jobs.BatchJob{Removes: true, Run: func(ctx context.Context, limit int) (int, error) {
			return db.Deliveries().DeleteOld(ctx, keepDeliveries, limit)
		}},
		Reconcile: jobs.BatchJob{Run: reconciliation.Step},
	}
	if gateway != nil {
		list.SettlePayment, list.SettleRefund = run.payments.SettlePayment, run.payments.SettleRefund
	}
	return list
}

// Reconcile compares all rows with one another and, if cards are accepted, with the
// provider charges. It only reads, and returns what it has left out.
func Reconcile(ctx context.Context, db *postgres.DB, cfg config.Config, report func(payment.Mismatch)) (reconcile.LeftOut, error) {
	gateway, _ := newGateway(cfg, metrics.New(zerolog.Nop()))
	reconciliation := &reconcile.Service{Store: db, Report: report, Gateway: gateway, Now: time.Now}
	return reconciliation.Run(ctx)
}

// restoreIntents returns the job that restores missing settlement jobs. It logs each
// one, because their loss has a cause.
func (a *App) restoreIntents(log zerolog.Logger) func(context.Context, int) (int, error) {
	payments := jobs.InOrder(a.reportRestored(log, postgres.SettlePayment, a.jobDB.RestorePaymentJobs))
	refunds := jobs.InOrder(a.reportRestored(log, postgres.SettleRefund, a.jobDB.RestoreRefundJobs))
	return func(ctx context.Context, limit int) (int, error) {
		p, paymentErr := payments(ctx, limit)
		r, refundErr := refunds(ctx, limit)
		return max(p, r), errors.Join(paymentErr, refundErr)
	}
}

// reportRestored wraps restore with logging and metrics.
func (a *App) reportRestored(
	log zerolog.Logger, kind string, restore func(context.Context, core.Position, int) (postgres.Restored, error),
) func(context.Context, core.Position, int) (core.Position, int, error) {
	return func(ctx context.Context, after core.Position, limit int) (core.Position, int, error) {
		page, err := restore(ctx, after, limit)
		a.metrics.RowsRemoved("restore_intents", len(page.IDs))
		for _, id := range page.IDs {
			log.Warn().Str("job", kind).Int64("id", id).Msg("settlement job restored")
		}
		return page.Last, page.Found, err
	}
}
