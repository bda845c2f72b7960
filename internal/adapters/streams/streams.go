// Package streams prepares NATS JetStream streams, for the adapters that consume and
// publish messages.
package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// CheckConnection returns why conn reaches no broker server, or nil. The library would
// report an exceeded buffer, because we disable the buffer.
func CheckConnection(conn *nats.Conn) error {
	if conn.IsConnected() {
		return nil
	}
	if err := conn.LastError(); err != nil {
		return fmt.Errorf("no connection to the broker: %w", err)
	}
	return errors.New("no connection to the broker")
}

// Ensure creates a missing stream. It raises the replicas of an existing stream to
// those in cfg, and leaves age, size and additional replicas to the operators.
//
// It fails while the broker has too few servers for the replicas, so that an
// acknowledged message is on as many servers as configured.
func Ensure(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) error {
	if err := CheckConnection(js.Conn()); err != nil {
		return err
	}
	stream, err := js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = js.CreateStream(ctx, cfg)
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // a second process has just created it
		return nil
	case err != nil:
		return fmt.Errorf("prepare stream %s: %w", cfg.Name, err)
	}
	existing := stream.CachedInfo().Config
	if existing.Replicas >= cfg.Replicas {
		return nil
	}
	existing.Replicas = cfg.Replicas
	if _, err := js.UpdateStream(ctx, existing); err != nil {
		return fmt.Errorf("keep stream %s on %d servers: %w", cfg.Name, cfg.Replicas, err)
	}
	return nil
}
