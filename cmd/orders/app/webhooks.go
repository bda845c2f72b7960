package app

import (
	"context"

	"example.com/orders/internal/core/webhook"
)

// webhookConns is the pool size for webhook deliveries.
const webhookConns = 4

// newCourier returns what sends events to webhook endpoints, also if there is no broker.
func (a *App) newCourier(sender webhook.Sender) *webhook.Courier {
	return &webhook.Courier{
		Queue: a.webhookDB.Deliveries(), Sender: sender,
		Record: (&webhook.Service{Store: a.webhookDB.Webhooks()}).RecordAttempts,
		Failed: func(err error) { a.log.Warn().Err(err).Msg("webhook deliveries failed") },
	}
}

// startCourier begins attempts. stop lets no more begin, and waits for those in flight until
// its context ends: they are due again then, on another replica.
func startCourier(run func(context.Context)) (stop func(context.Context)) {
	claiming, stopClaiming := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); run(claiming) }()
	return func(ctx context.Context) {
		stopClaiming()
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}
