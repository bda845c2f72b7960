// Package nats publishes the events of the outbox to NATS JetStream.
package nats

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

const (
	// dialTimeout bounds one attempt to connect to one server.
	dialTimeout = 2 * time.Second
	// pingInterval is how often an idle connection is tested. A server that hangs, or that
	// the network has cut off, is given up when it has missed two pings.
	pingInterval = 2 * time.Second
	// writeTimeout bounds a write to a server that reads nothing.
	writeTimeout = 5 * time.Second
	// minBackoff and maxBackoff bound the wait after no server could be reached.
	minBackoff = 250 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// Connect opens a connection to one of several servers of a broker, whose URLs are
// separated by commas. The connection reconnects for as long as it is open. Connect tries
// each server once and returns even if all are down: whoever uses the connection reports
// that. The URLs may contain credentials, so no error and no log entry contains them.
func Connect(brokerURLs string, log zerolog.Logger) (*client.Conn, error) {
	conn, err := client.Connect(brokerURLs,
		client.Name("orders"),
		client.RetryOnFailedConnect(true),
		client.MaxReconnects(-1),
		client.CustomReconnectDelay(backoff),
		client.Timeout(dialTimeout),
		client.PingInterval(pingInterval),
		client.MaxPingsOutstanding(2),
		client.FlusherTimeout(writeTimeout),
		// Without this, the library closes the connection for ever when a server has
		// refused the password twice, as it may while operators replace it.
		client.IgnoreAuthErrorAbort(),
		// Nobody has checked an address that only a server names: it could lead elsewhere
		// than to loopback, without TLS.
		client.IgnoreDiscoveredServers(),
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

// backoff doubles each time that no server could be reached. It is random, so that
// replicas do not reconnect together.
func backoff(rounds int) time.Duration {
	d := min(minBackoff<<min(rounds-1, 10), maxBackoff)
	return d/2 + rand.N(d/2)
}
