// Package nats lets the events of the outbox leave through NATS JetStream.
package nats

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// Connect opens a connection that comes back for ever. It returns at once, also when no
// broker answers: a broker that is down is reported by whoever needs it. The URL may
// carry credentials, so it is in no error and no log.
func Connect(brokerURL string, log zerolog.Logger) (*client.Conn, error) {
	conn, err := client.Connect(brokerURL,
		client.Name("orders"),
		client.RetryOnFailedConnect(true),
		client.MaxReconnects(-1),
		client.ReconnectWait(250*time.Millisecond),
		client.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		// What cannot be sent fails at once: the outbox is the buffer, and memory stays flat.
		client.ReconnectBufSize(-1),
		client.DisconnectErrHandler(func(conn *client.Conn, err error) {
			if !conn.IsClosed() { // by ourselves
				log.Warn().Err(err).Msg("the broker is gone")
			}
		}),
		client.ReconnectHandler(func(*client.Conn) { log.Info().Msg("the broker is back") }),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) {
			log.Warn().Err(err).Msg("the broker reported an error")
		}),
	)
	if err == nil {
		return conn, nil
	}
	if _, broken := errors.AsType[*url.Error](err); broken {
		return nil, errors.New("the broker URL cannot be read") // err would show the password
	}
	return nil, fmt.Errorf("connect to the broker: %w", err)
}
