package postgres

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
	// connectTimeout bounds an attempt to connect to one server. Of several servers, one
	// that does not answer delays the attempt at the next one by as much.
	connectTimeout, connectTimeoutOfSeveral = 5 * time.Second, 2 * time.Second
	// pingTimeout bounds the question whether an idle connection is alive.
	pingTimeout = time.Second
	// maxConnecting is how many connections of a pool are opened at the same time.
	maxConnecting = 4
	// connectPause is the shortest time between two attempts while they fail. It is three
	// times as long at most, at random, so that replicas do not connect together.
	connectPause = 100 * time.Millisecond
	// resetPause is the shortest time between two resets of a pool: to connect again does not
	// help where the database itself is read-only.
	resetPause = time.Second
)

// keepAlive finds out within half a minute that the machine at the other end is gone. A
// COMMIT waits for its answer without a deadline.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}

// servers opens the connections of a pool to the servers of a URL, of which one is the
// primary. It implements [pgx.ConnectTracer], to see how each attempt ends.
type servers struct {
	pool  atomic.Pointer[pgxpool.Pool]
	slots *semaphore.Weighted
	// primaryOnly reports that each new connection is checked to accept writes, or what else
	// the URL asks for.
	primaryOnly bool

	mu sync.Mutex
	// last is the address that the last successful attempt led to, and succeeded is when.
	last      string
	succeeded time.Time
	// suspect reports that a COMMIT there has not ended in time since.
	suspect bool
	// failed is the error of the last attempt, nil if it succeeded. No other attempt begins
	// before next then.
	failed error
	next   time.Time
	reset  time.Time // of the pool, the last one
}

// connectTo makes a pool connect to the server that accepts writes, or to a standby.
func connectTo(cfg *pgxpool.Config, standby bool) *servers {
	s := &servers{slots: semaphore.NewWeighted(maxConnecting)}
	if standby && cfg.ConnConfig.ValidateConnect == nil {
		cfg.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsStandby
	}
	cfg.ConnConfig.DialFunc = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
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

// hasSeveralServers reports whether a URL names several servers. One server has fallbacks,
// too, where TLS is optional.
func hasSeveralServers(cfg *pgconn.Config) bool {
	return slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != cfg.Host || f.Port != cfg.Port
	})
}

// beforeConnect waits until an attempt may begin, and lets it begin with the server that
// the last one led to. While attempts fail, it returns the error of the last one to most
// callers, so that a database that is down is asked a few times a second, however many
// requests there are.
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

// sortServers moves the server at an address before all others, or behind them: while
// attempts fail, or a COMMIT did not end, it may be a primary that was replaced.
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

// attemptKey is the key of the context value that says when an attempt began.
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
	case began.After(s.succeeded) && !errors.Is(data.Err, context.Canceled): // when the pool is closed
		s.failed = data.Err
	}
}

// isDead reports whether a connection that was idle does not answer. Then the others do
// not either, most of the time: the server is gone, or another one is the primary.
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
	return true // the ping of the pool fails, and drops it
}

// leave makes the pool connect again, and ask the other servers before the last one. A COMMIT
// that does not end waits for a standby. Perhaps the standby is the primary now, and this
// server was cut off, or the process that should have stopped it is dead: it still says
// that it accepts writes. If no other server does, the pool comes back.
func (s *servers) leave() {
	s.mu.Lock()
	s.suspect = true
	s.mu.Unlock()
	s.dropAll()
}

// dropAll makes the pool connect again: at once where a connection is idle, and after its
// use where one is in use.
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

// refuseStandby returns an error if the server is a standby. The connection led to the
// primary when it was opened, and a pooler has kept it open since. Answers of a standby are
// old: it may not have the record of a key that the new primary has.
func (t *tx) refuseStandby(standby bool) error {
	if !standby {
		return nil
	}
	t.db.servers.dropAll()
	return fmt.Errorf("%w: %w", errDeadConnection, unavailable(&serverError{state: readOnlyTransaction}))
}
