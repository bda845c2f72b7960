package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	httpapi "example.com/orders/internal/adapters/in/http"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/telemetry"
)

// providerTimeout bounds each try of a call to the provider, of which a job makes up to
// six: all of them fit into the time of a job.
const providerTimeout = 4 * time.Second

// cards is the card provider, seen from each side that knows it. All of it is nil where
// cards are not accepted.
type cards struct {
	gateway   payment.Gateway
	statement payment.Statement
	webhook   httpapi.ParseWebhook
}

func connectCards(cfg config.Config) cards {
	if cfg.StripeKey == "" {
		return cards{}
	}
	gateway := stripe.New(stripe.Config{Key: cfg.StripeKey, URL: cfg.StripeURL, Timeout: providerTimeout})
	webhooks := stripe.Webhooks{Secret: cfg.StripeWebhookSecret}
	return cards{
		gateway:   gateway,
		statement: statement{gateway},
		webhook: func(payload []byte, signature string) (payment.Notice, error) {
			event, err := webhooks.Parse(payload, signature, time.Now())
			return payment.Notice{
				Message:   payment.Message{Source: "stripe", ID: event.ID},
				PaymentID: event.PaymentID, RefundID: event.RefundID, Result: event.Result,
			}, err
		},
	}
}

// statement is the provider's list of charges as reconciliation reads it.
type statement struct{ gateway *stripe.Gateway }

func (s statement) Charges(ctx context.Context, since time.Time) ([]payment.ProviderCharge, error) {
	listed, err := s.gateway.List(ctx, since)
	if err != nil {
		return nil, err
	}
	charges := make([]payment.ProviderCharge, len(listed))
	for i, c := range listed {
		charges[i] = payment.ProviderCharge{
			PaymentID: c.PaymentID, ExternalID: c.ExternalID, Amount: c.Amount, Refunded: c.Refunded,
			Captured: c.Status == payment.CardDone,
		}
	}
	return charges, nil
}

// reconcile compares the books, says what differs, and sets the figure that must be 0.
func reconcile(r *payment.Reconciliation, metrics *telemetry.Metrics, log zerolog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		differences, err := r.Run(ctx)
		if err != nil {
			return err
		}
		metrics.Reconciled(len(differences))
		for _, d := range differences {
			log.Error().Str("resource", d.Resource).Str("difference", d.Detail).Msg("the books differ")
		}
		return nil
	}
}

// messaging is what runs on the broker. It is nil where there is none; then events wait
// in the outbox.
type messaging struct {
	conn     *nats.Conn
	relay    *outnats.Relay
	consumer *events.Consumer
}

func connectBroker(cfg config.Config, db *postgres.DB, log zerolog.Logger) (*messaging, error) {
	if cfg.NATSURL == "" {
		return nil, nil
	}
	conn, err := outnats.Connect(cfg.NATSURL, log)
	if err != nil {
		return nil, err
	}
	publisher, err := outnats.NewPublisher(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	stock := &order.Service{Store: db.Orders()}
	consumer, err := events.New(events.Config{Conn: conn, Restock: stock.Restock, Log: log})
	if err != nil {
		conn.Close()
		return nil, err
	}
	relay := &outnats.Relay{Outbox: db.Outbox(), Sender: publisher, Log: log}
	return &messaging{conn, relay, consumer}, nil
}

// start relays and consumes until ctx ends. The function it gives waits for the end.
func (m *messaging) start(ctx context.Context) (wait func()) {
	if m == nil {
		return func() {}
	}
	var running sync.WaitGroup
	running.Go(func() { m.relay.Run(ctx) })
	running.Go(func() { m.consumer.Run(ctx) })
	return running.Wait
}

func (m *messaging) close() {
	if m != nil {
		m.conn.Close()
	}
}

// showEvents writes a line for each event that leaves, for people who watch.
func (m *messaging) showEvents(log zerolog.Logger) error {
	_, err := m.conn.Subscribe("orders.events.>", func(msg *nats.Msg) {
		var event struct {
			Type, Aggregate string
			ID              int64
		}
		if err := json.Unmarshal(msg.Data, &event); err != nil {
			log.Warn().Err(err).Msg("an event cannot be read")
			return
		}
		log.Info().Int64("id", event.ID).Str("type", event.Type).Str("aggregate", event.Aggregate).Msg("event")
	})
	return err
}
