package migrations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolConns is the pool size for Up: one connection keeps the lock.
const poolConns = 4

// parse reads a database URL as the service does, so that one URL serves both. Pool
// parameters are not passed to the server.
func parse(databaseURL string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // err may contain the password
	}
	if strings.Contains(cfg.ConnConfig.Host+cfg.ConnConfig.Database, "@") {
		// A connection error would name host and database.
		return nil, errors.New("the database URL cannot be read: its password has a character that must be percent-encoded")
	}
	chooseServer(&cfg.ConnConfig.Config)
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = poolConns, 0, 0
	cfg.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) error { abandon(conn); return nil }
	return cfg, nil
}

// connect opens a connection for a purpose, outside the pool.
func connect(ctx context.Context, databaseURL, purpose string) (*pgx.Conn, error) {
	cfg, err := parse(databaseURL)
	if err != nil {
		return nil, err
	}
	abandon(cfg.ConnConfig)
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("open the database for %s: %w", purpose, err)
	}
	return conn, nil
}

// connectTimeout bounds an attempt to connect to one of several servers.
const connectTimeout = 5 * time.Second

// chooseServer directs connections to the writable server, as the service does, if a
// URL names several servers without a preference. A single server also has fallbacks if
// TLS is optional.
func chooseServer(cfg *pgconn.Config) {
	several := slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != cfg.Host || f.Port != cfg.Port
	})
	if !several {
		return
	}
	if cfg.ValidateConnect == nil {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, connectTimeout)
}

var errAbandoned = errors.New("a statement is abandoned and not cancelled")

// abandon stops the driver from cancelling statements, for which it would dial again.
// When a context ends or a connection breaks, it only closes the connection. Cancelling
// a COMMIT that waits for a synchronous standby would make it visible at once, and a
// failover would then undo it.
func abandon(cfg *pgx.ConnConfig) {
	connected := new(atomic.Bool)
	dial, validate := cfg.DialFunc, cfg.ValidateConnect
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if connected.Load() {
			return nil, errAbandoned
		}
		return dial(ctx, network, addr)
	}
	cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		connected.Store(true)
		return nil
	}
}
