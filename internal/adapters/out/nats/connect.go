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

// Files are the paths of files with which service and broker identify each other. Each
// may be empty. All are read again for each connection.
type Files struct {
	// Credentials is a .creds file, or a file with an nkey seed.
	Credentials string
	// CA has the PEM certificates that may sign the broker's.
	CA string
	// Cert and Key are a client certificate and its key in PEM.
	Cert, Key string
}

// options returns the client options for the files.
func (f Files) options() ([]client.Option, error) {
	var options []client.Option
	if f.CA != "" {
		options = append(options, client.RootCAs(f.CA))
	}
	if f.Cert != "" {
		options = append(options, client.ClientCert(f.Cert, f.Key))
	}
	if f.Credentials == "" {
		return options, nil
	}
	text, err := os.ReadFile(f.Credentials)
	if err == nil && strings.Contains(string(text), "NATS USER JWT") {
		return append(options, client.UserCredentials(f.Credentials)), nil
	}
	nkey, err := client.NkeyOptionFromSeed(f.Credentials)
	return append(options, nkey), err
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
// credentials, so no error and no log line contains them.
func Connect(name, brokerURLs string, files Files, log zerolog.Logger) (*client.Conn, error) {
	identity, err := files.options()
	if err != nil {
		return nil, fmt.Errorf("broker credentials: %w", err)
	}
	conn, err := client.Connect(brokerURLs, append(identity, behaviour(name, log)...)...)
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
