package main

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	outnats "example.com/orders/internal/adapters/out/nats"
)

// logEvents logs each published event until the returned connection closes.
func logEvents(brokerURL string, log zerolog.Logger) (*nats.Conn, error) {
	conn, err := nats.Connect(brokerURL)
	if err != nil {
		return nil, fmt.Errorf("log events: %w", err)
	}
	_, err = conn.Subscribe(outnats.SubjectPrefix+">", func(msg *nats.Msg) { logEvent(log, msg.Data) })
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("log events: %w", err)
	}
	return conn, nil
}

func logEvent(log zerolog.Logger, data []byte) {
	var event struct {
		ID, Source, Type, Subject string
	}
	if err := json.Unmarshal(data, &event); err != nil {
		log.Warn().Err(err).Msg("event unreadable")
		return
	}
	log.Info().Str("id", event.ID).Str("source", event.Source).Str("type", event.Type).Str("subject", event.Subject).
		Msg("event published")
}
