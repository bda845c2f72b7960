// Package nats publishes outbox events to NATS JetStream.
package nats

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

const (
	// dialTimeout bounds one attempt to connect to one server.
	dialTimeout = 2 * time.Second
	// pingInterval is the time between pings on an idle connection, which is closed
	// after two missed pings.
	pingInterval = 2 * time.Second
	// writeTimeout bounds a write to a server that has stopped reading.
	writeTimeout = 5 * time.Second
	// minBackoff and maxBackoff bound the wait after no server could be reached.
	minBackoff = 250 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// identity returns the option for a .creds file, or a file with an nkey seed, which is
// read again for each connection. An empty path is no file.
func identity(path string) ([]client.Option, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err == nil && strings.Contains(string(text), "NATS USER JWT") {
		return []client.Option{client.UserCredentials(path)}, nil
	}
	nkey, err := client.NkeyOptionFromSeed(path)
	return []client.Option{nkey}, err
}

// The clients, which name connections and the inboxes for responses. Permissions may then
// keep each user from the inboxes of other users.
const (
	Service   = "orders"
	Operators = "orders_operator"
)

// Connect connects to one of several broker servers, given as comma-separated URLs, and
// reconnects until closed. It tries each server once and returns even if all are down;
// use of the connection reports that, and the log says why. The URLs may contain
// credentials, so no error and no log line contains them. The path of a file with
// credentials may be empty.
func Connect(name, brokerURLs, credentials string, log zerolog.Logger) (*client.Conn, error) {
	options, err := identity(credentials)
	if err != nil {
		return nil, fmt.Errorf("broker credentials: %w", err)
	}
	conn, err := client.Connect(brokerURLs, append(options, behaviour(name, log)...)...)
	if err == nil {
		return conn, nil
	}
	if _, malformed := errors.AsType[*url.Error](err); malformed {
		return nil, errors.New("invalid broker URL") // err would contain the password
	}
	return nil, fmt.Errorf("connect to the broker: %w", err)
}

// behaviour returns the options that keep, renew and log a connection.
func behaviour(name string, log zerolog.Logger) []client.Option {
	return []client.Option{
		client.Name(name),
		client.CustomInboxPrefix("_INBOX." + name),
		client.RetryOnFailedConnect(true),
		client.MaxReconnects(-1),
		client.CustomReconnectDelay(backoff),
		client.Timeout(dialTimeout),
		client.PingInterval(pingInterval),
		client.MaxPingsOutstanding(2),
		client.FlusherTimeout(writeTimeout),
		// Otherwise the library closes the connection forever after two refused
		// passwords, which may happen while operators rotate it.
		client.IgnoreAuthErrorAbort(),
		// Addresses announced by servers are unchecked: they could lead away from
		// loopback, without TLS.
		client.IgnoreDiscoveredServers(),
		// No buffer: while the broker is down, events wait in the outbox, not in
		// memory.
		client.ReconnectBufSize(-1),
		client.DisconnectErrHandler(func(conn *client.Conn, err error) {
			if !conn.IsClosed() { // not after our own Close
				log.Warn().Err(err).Msg("broker disconnected")
			}
		}),
		client.ReconnectErrHandler(func(_ *client.Conn, err error) {
			log.Warn().Err(err).Msg("broker connection failed")
		}),
		client.ReconnectHandler(func(*client.Conn) { log.Info().Msg("broker reconnected") }),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) {
			log.Warn().Err(err).Msg("broker error")
		}),
	}
}

// backoff doubles with each failed round, with jitter so that replicas do not reconnect
// together.
func backoff(rounds int) time.Duration {
	d := min(minBackoff<<min(rounds-1, 10), maxBackoff)
	return d/2 + rand.N(d/2)
}
