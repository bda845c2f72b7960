// Package nats publishes the events of the outbox to NATS JetStream.
package nats

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// Connect opens a connection that reconnects for as long as it is open. It returns at
// once, even while the broker is down: whoever uses the connection reports that. The
// URL may contain credentials, so no error and no log entry contains the URL.
func Connect(brokerURL string, log zerolog.Logger) (*client.Conn, error) {
	conn, err := client.Connect(brokerURL,
		client.Name("orders"),
		client.RetryOnFailedConnect(true),
		client.MaxReconnects(-1),
		client.ReconnectWait(250*time.Millisecond),
		client.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		// No buffer: while the broker is down, events wait in the outbox, not in
		// memory.
		client.ReconnectBufSize(-1),
		client.DisconnectErrHandler(func(conn *client.Conn, err error) {
			if !conn.IsClosed() { // a connection that we closed is no event
				log.Warn().Err(err).Msg("broker disconnected")
			}
		}),
		client.ReconnectHandler(func(*client.Conn) { log.Info().Msg("broker reconnected") }),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) {
			log.Warn().Err(err).Msg("broker error")
		}),
	)
	if err == nil {
		return conn, nil
	}
	if _, malformed := errors.AsType[*url.Error](err); malformed {
		return nil, errors.New("invalid broker URL") // err would contain the password
	}
	return nil, fmt.Errorf("connect to the broker: %w", err)
}
