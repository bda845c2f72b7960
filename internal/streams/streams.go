// Package streams prepares the streams of NATS JetStream that the service uses.
package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Ensure creates a stream unless it exists. An existing stream with fewer replicas than
// cfg gets as many; otherwise it stays as its operators configured it: age, size and more
// replicas are theirs to choose.
//
// It fails while the broker has too few servers for the replicas. A message that is
// acknowledged is then on as many servers as the operators asked for.
func Ensure(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) error {
	stream, err := js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = js.CreateStream(ctx, cfg)
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // another process has just created it
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
