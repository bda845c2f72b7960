package app

import (
	"context"
	"sync"

	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/outbox"
)

// webhookConns is the pool size for webhook deliveries.
const webhookConns = 4

// endpoints sends events to webhook endpoints, also if there is no broker.
type endpoints struct {
	relay   *outbox.Relay
	courier *webhook.Courier
	running sync.WaitGroup
	// stopClaiming lets no attempt begin, and stopSending cuts off those in flight. They are
	// nil before the start.
	stopClaiming, stopSending context.CancelFunc
}

func (a *App) connectEndpoints(sender webhook.Sender) {
	deliveries := a.webhookDB.Deliveries()
	recorder := &webhook.Service{Store: a.webhookDB.Webhooks()}
	a.endpoints.relay = &outbox.Relay{
		Store: deliveries, Publisher: deliveries, Log: a.log.With().Str("to", "webhooks").Logger(),
	}
	a.endpoints.courier = &webhook.Courier{
		Queue: deliveries, Sender: sender, Record: recorder.RecordAttempts,
		Failed: func(err error) { a.log.Warn().Err(err).Msg("webhook deliveries failed") },
	}
}

func (e *endpoints) start(ctx context.Context) {
	var sending, claiming context.Context
	sending, e.stopSending = context.WithCancel(ctx)
	claiming, e.stopClaiming = context.WithCancel(sending)
	e.running.Go(func() { e.relay.Run(claiming) })
	e.running.Go(func() { e.courier.Run(claiming, sending) })
}

// stop lets no attempt begin. wait waits for those in flight, and cuts them off when ctx
// ends.
func (e *endpoints) stop(ctx context.Context) (wait func()) {
	if e.stopClaiming == nil {
		return func() {}
	}
	e.stopClaiming()
	return func() {
		defer context.AfterFunc(ctx, e.stopSending)()
		e.running.Wait()
	}
}
