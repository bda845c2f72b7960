package main

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	outnats "example.com/orders/internal/adapters/out/nats"
)

// showEvents logs each event as it is published, until the returned connection closes.
func showEvents(brokerURL string, log zerolog.Logger) (*nats.Conn, error) {
	conn, err := nats.Connect(brokerURL)
	if err != nil {
		return nil, fmt.Errorf("show events: %w", err)
	}
	_, err = conn.Subscribe(outnats.SubjectPrefix+">", func(msg *nats.Msg) {
		var event struct {
			Type, Aggregate string
			ID              int64
		}
		if err := json.Unmarshal(msg.Data, &event); err != nil {
			log.Warn().Err(err).Msg("event not readable")
			return
		}
		log.Info().Int64("id", event.ID).Str("type", event.Type).Str("aggregate", event.Aggregate).Msg("event")
	})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("show events: %w", err)
	}
	return conn, nil
}
