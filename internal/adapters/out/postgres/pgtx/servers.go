package pgtx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"
)

const (
	// connectTimeout limits an attempt to connect to one server. With several servers,
	// each one that does not answer delays the next attempt.
	connectTimeout, connectTimeoutOfSeveral = 5 * time.Second, 2 * time.Second
	// pingTimeout limits the liveness check on an idle connection.
	pingTimeout = time.Second
	// maxConnecting limits a pool's concurrent connection attempts.
	maxConnecting = 4
	// connectPause is the shortest pause between failing attempts. A random factor up
	// to three keeps replicas from connecting together.
	connectPause = 100 * time.Millisecond
	// resetPause is the shortest pause between pool resets: reconnecting does not help
	// where the database itself is read-only.
	resetPause = time.Second
)

// keepAlive detects a lost machine within half a minute, because a COMMIT waits for its
// answer without a deadline.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}

// servers connects a pool to the servers in a URL, one being the primary. It implements
// [pgx.ConnectTracer] to see how each attempt ends.
type servers struct {
	pool  atomic.Pointer[pgxpool.Pool]
	slots *semaphore.Weighted
	// primaryOnly reports that each new connection is checked for a writable server, or
	// for the URL's target_session_attrs.
	primaryOnly bool

	mu sync.Mutex
	// last is the address from the last successful attempt, at succeeded.
	last      string
	succeeded time.Time
	// suspect reports that a COMMIT there has timed out since.
	suspect bool
	// failed is the last attempt's error, nil on success. After a failure, no attempt
	// begins before next.
	failed error
	next   time.Time
	reset  time.Time // last pool reset
}

// connectTo makes a pool connect to the writable server, where the URL lists several.
func connectTo(cfg *pgxpool.Config, from Config) *servers {
	s := &servers{slots: semaphore.NewWeighted(maxConnecting)}
	cfg.ConnConfig.DialFunc = from.Dial
	if from.Dial == nil {
		cfg.ConnConfig.DialFunc = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	}
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	if hasSeveralServers(&cfg.ConnConfig.Config) {
		cfg.ConnConfig.ConnectTimeout = connectTimeoutOfSeveral
		if cfg.ConnConfig.ValidateConnect == nil {
			cfg.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		}
	}
	s.primaryOnly = cfg.ConnConfig.ValidateConnect != nil
	cfg.BeforeConnect = s.beforeConnect
	cfg.ShouldPing = s.isDead
	onError := cfg.ConnConfig.OnPgError
	cfg.ConnConfig.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code == readOnlyTransaction {
			s.dropAll()
		}
		return onError(conn, err)
	}
	return s
}

// hasSeveralServers reports whether a URL names several servers. A single server also
// has fallbacks if TLS is optional.
func hasSeveralServers(cfg *pgconn.Config) bool {
	return slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != cfg.Host || f.Port != cfg.Port
	})
}

// beforeConnect waits for a connection slot, and puts the last successful server first.
// While attempts fail, most callers get the last error, so that a database that is down
// sees only a few attempts a second however many requests arrive.
func (s *servers) beforeConnect(ctx context.Context, cfg *pgx.ConnConfig) error {
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	s.mu.Lock()
	failed, last, behind := s.failed, s.last, s.failed != nil || s.suspect
	wait := failed != nil && time.Now().Before(s.next)
	if !wait {
		s.next = time.Now().Add(connectPause + rand.N(2*connectPause))
	}
	s.mu.Unlock()
	if wait {
		s.slots.Release(1)
		return failed
	}
	if last != "" && hasSeveralServers(&cfg.Config) {
		sortServers(ctx, cfg, last, behind)
	}
	keepCommits(cfg)
	return nil
}

// sortServers moves the server at an address before all others, or behind them: after a
// failed attempt or a hanging COMMIT it may be a demoted primary.
func sortServers(ctx context.Context, cfg *pgx.ConnConfig, address string, behind bool) {
	all := append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
	rank := make(map[*pgconn.FallbackConfig]int, len(all))
	for _, server := range all {
		if leadsTo(ctx, cfg, server, address) == behind {
			rank[server] = 1
		}
	}
	slices.SortStableFunc(all, func(a, b *pgconn.FallbackConfig) int { return cmp.Compare(rank[a], rank[b]) })
	cfg.Host, cfg.Port, cfg.TLSConfig, cfg.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
}

// leadsTo reports whether a server has an address.
func leadsTo(ctx context.Context, cfg *pgx.ConnConfig, server *pgconn.FallbackConfig, address string) bool {
	at := func(host string) bool {
		_, a := pgconn.NetworkAddress(host, server.Port)
		return a == address
	}
	if network, _ := pgconn.NetworkAddress(server.Host, server.Port); network == "unix" {
		return at(server.Host)
	}
	hosts, err := cfg.LookupFunc(ctx, server.Host)
	return err == nil && slices.ContainsFunc(hosts, at)
}

// attemptKey is the context key for an attempt's start time.
type attemptKey struct{}

// TraceConnectStart implements [pgx.ConnectTracer].
func (s *servers) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return context.WithValue(ctx, attemptKey{}, time.Now())
}

// TraceConnectEnd implements [pgx.ConnectTracer].
func (s *servers) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	defer s.slots.Release(1)
	began, _ := ctx.Value(attemptKey{}).(time.Time)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case data.Err == nil:
		s.failed, s.succeeded, s.suspect = nil, time.Now(), false
		s.last = data.Conn.PgConn().Conn().RemoteAddr().String()
	case began.After(s.succeeded) && !errors.Is(data.Err, context.Canceled): // the pool is closed
		s.failed = data.Err
	}
}

// isDead reports whether an idle connection does not answer. Most likely no other does
// either, because the server is gone or no longer the primary.
func (s *servers) isDead(ctx context.Context, params pgxpool.ShouldPingParams) bool {
	if params.IdleDuration < time.Second {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	if params.Conn.Ping(ctx) == nil {
		return false
	}
	s.dropAll()
	return true // the pool's ping fails and drops it
}

// leave makes the pool reconnect, and try the other servers before the last one. A
// COMMIT that hangs waits for a standby. That standby may have been promoted while this
// server was isolated, or its supervisor died: it still claims to accept writes. If no
// other server does, the pool returns to it.
func (s *servers) leave() {
	s.mu.Lock()
	s.suspect = true
	s.mu.Unlock()
	s.dropAll()
}

// dropAll makes the pool reconnect: idle connections at once, others after use.
func (s *servers) dropAll() {
	s.mu.Lock()
	soon := time.Since(s.reset) < resetPause
	if !soon {
		s.reset = time.Now()
	}
	s.mu.Unlock()
	if pool := s.pool.Load(); pool != nil && !soon {
		pool.Reset()
	}
}

// RefuseStandby returns an error if the server is a standby. The connection led to the
// primary when it was opened, and a pooler has kept it open since. A standby lags: it
// may lack a record that the new primary has.
func (t *Tx) RefuseStandby(standby bool) error {
	if !standby {
		return nil
	}
	t.db.servers.dropAll()
	return fmt.Errorf("%w: %w", errDeadConnection, Unavailable(&serverError{state: readOnlyTransaction}))
}
