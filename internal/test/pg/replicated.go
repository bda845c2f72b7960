package pgtest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	devpostgres "example.com/orders/internal/dev/postgres"
	testwait "example.com/orders/internal/test/wait"
)

// replicated are both servers' settings. A killed server loses no data even if fsync is off:
// only a machine crash would.
var replicated = map[string]string{
	"fsync":                       "off",
	"wal_level":                   "logical",
	"wal_retrieve_retry_interval": "100ms",
}

// Replicated is a primary with a standby. Both keep one migrated database.
type Replicated struct {
	primary, standby *devpostgres.Server
}

// NewReplicated starts a primary with a standby for this test alone. Replication is
// asynchronous until SetSynchronous.
func NewReplicated(t testing.TB) *Replicated {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	primary, err := devpostgres.Start(ctx, devpostgres.Config{
		Settings: replicated, Template: os.Getenv(DataVariable), Notices: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = primary.Stop() }) // fails after Promote
	NewOn(t, primary)

	return &Replicated{primary, startStandby(ctx, t, primary)}
}

// startStandby starts the standby. Its data is removed with that of the primary.
func startStandby(ctx context.Context, t testing.TB, primary *devpostgres.Server) *devpostgres.Server {
	t.Helper()
	data := primary.DataDir() + "-standby"
	if err := backUp(ctx, primary, data, "--write-recovery-conf"); err != nil {
		t.Fatal(err)
	}
	standby, err := devpostgres.Start(ctx, devpostgres.Config{DataDir: data, Settings: replicated})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = standby.Stop() }) // fails after StopStandby
	return standby
}

// PrimaryURL returns the database URL on the first primary.
func (r *Replicated) PrimaryURL() string { return r.primary.URL(database) }

// StandbyURL returns the database URL on the first standby.
func (r *Replicated) StandbyURL() string { return r.standby.URL(database) }

// URL returns the URL that a service uses, which leads to the current primary.
func (r *Replicated) URL() string {
	u, err := url.Parse(r.PrimaryURL())
	if err != nil {
		panic("pgtest: " + err.Error()) // PrimaryURL has made it
	}
	query := u.Query()
	query.Set("host", socketOf(r.PrimaryURL())+","+socketOf(r.StandbyURL()))
	query.Set("port", query.Get("port")+","+query.Get("port"))
	query.Set("target_session_attrs", "primary")
	u.RawQuery = query.Encode()
	return u.String()
}

func socketOf(serverURL string) string {
	u, err := url.Parse(serverURL)
	if err != nil {
		panic("pgtest: " + err.Error()) // devpostgres has made it
	}
	return u.Query().Get("host")
}

// SetSynchronous sets whether each COMMIT on the primary waits for the standby.
func (r *Replicated) SetSynchronous(t testing.TB, synchronous bool) {
	t.Helper()
	names := ""
	if synchronous {
		names = "*"
	}
	r.execute(t, "ALTER SYSTEM SET synchronous_standby_names = '"+names+"'")
	r.execute(t, "SELECT pg_reload_conf()")
	testwait.Until(t, "the server to read the setting", func() bool {
		return r.query(t, "SELECT current_setting('synchronous_standby_names')") == names
	})
	// COMMIT waits only after the checkpointer has also read the setting, which it does
	// before it starts a checkpoint.
	r.execute(t, "CHECKPOINT")
}

func (r *Replicated) query(t testing.TB, sql string) (text string) {
	t.Helper()
	r.onPrimary(t, func(conn *pgx.Conn) error { return conn.QueryRow(t.Context(), sql).Scan(&text) })
	return text
}

func (r *Replicated) execute(t testing.TB, statement string) {
	t.Helper()
	r.onPrimary(t, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), statement)
		return err
	})
}

func (r *Replicated) onPrimary(t testing.TB, use func(*pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.PrimaryURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // each statement has committed by itself
	if err := use(conn); err != nil {
		t.Fatal(err)
	}
}

// StopStandby stops the standby at once. If replication is synchronous, each COMMIT on
// the primary waits from now on.
func (r *Replicated) StopStandby() { r.standby.Kill() }

// PauseStandby lets each COMMIT on the primary wait, if replication is synchronous, until
// resume is called. Unlike a stopped standby, the paused one continues at once.
func (r *Replicated) PauseStandby(t testing.TB) (resume func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.StandbyURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // it only reads
	var receiver int
	if err := conn.QueryRow(t.Context(), "SELECT pid FROM pg_stat_wal_receiver").Scan(&receiver); err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(receiver, s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	resume = sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	t.Cleanup(resume)
	return resume
}

// AwaitCommit waits until a COMMIT on the primary waits for the standby. It returns the
// waiting server process.
func (r *Replicated) AwaitCommit(t testing.TB) (pid int) {
	t.Helper()
	r.onPrimary(t, func(conn *pgx.Conn) (err error) {
		testwait.Until(t, "a COMMIT to wait for the standby", func() bool {
			err = conn.QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&pid)
			return !errors.Is(err, pgx.ErrNoRows)
		})
		return err
	})
	return pid
}

// StartStandby starts the standby again, and waits until it replicates.
func (r *Replicated) StartStandby(t testing.TB) {
	t.Helper()
	if err := r.standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the standby to replicate", func() bool {
		return r.query(t, "SELECT count(*)::text FROM pg_stat_replication WHERE state = 'streaming'") == "1"
	})
}

// Promote kills the primary and makes the standby the primary, starting it first if it
// was stopped. It returns when the new primary accepts writes.
func (r *Replicated) Promote(t testing.TB) {
	t.Helper()
	r.primary.Kill()
	select {
	case <-r.standby.Done():
		if err := r.standby.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	default:
	}
	// Not by pg_promote: its session can conflict with the WAL that is replayed meanwhile.
	promote := r.standby.Command(t.Context(), "pg_ctl", "promote", "--pgdata="+r.standby.DataDir())
	if out, err := promote.CombinedOutput(); err != nil {
		t.Fatalf("pg_ctl promote: %v: %s", err, out)
	}
}

// Endpoint is an address that leads to a server, and to the next one after a failover,
// as a load balancer's does.
type Endpoint struct {
	listener net.Listener
	work     sync.WaitGroup

	mu       sync.Mutex
	target   target
	frozen   bool
	freezes  int // until now
	accepted int
	open     map[net.Conn]bool
}

// target is the current server of an endpoint. Without a network, the endpoint accepts
// connections and never answers, or it answers that the server is starting.
type target struct {
	network, address string
	refuses          bool
}

// NewEndpoint starts an endpoint that refuses connections.
func NewEndpoint(t testing.TB) *Endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Listen does not wait
	if err != nil {
		t.Fatal(err)
	}
	e := &Endpoint{listener: listener, open: map[net.Conn]bool{}, target: target{refuses: true}}
	e.work.Go(e.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		e.Refuse()
		e.work.Wait()
	})
	return e
}

// LeadTo ends all connections and directs new ones to a server.
func (e *Endpoint) LeadTo(t testing.TB, serverURL string) {
	t.Helper()
	server, err := pgx.ParseConfig(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	network, address := pgconn.NetworkAddress(server.Host, server.Port)
	e.change(target{network: network, address: address})
}

// Refuse ends all connections, and refuses new ones as a starting server does.
func (e *Endpoint) Refuse() { e.change(target{refuses: true}) }

// Silence ends all connections and does not answer new ones.
func (e *Endpoint) Silence() { e.change(target{}) }

// Freeze drops all traffic from now on, in both directions, as a partition does. It
// ends no connection.
func (e *Endpoint) Freeze() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frozen = true
	e.freezes++
}

// Thaw serves new connections again. Those opened before stay frozen, as when a different
// server has the address.
func (e *Endpoint) Thaw() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frozen = false
}

// Accepted counts the accepted connections.
func (e *Endpoint) Accepted() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.accepted
}

// Open counts the open client connections.
func (e *Endpoint) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.open)
}

// Through returns a database URL with endpoints instead of its servers.
func Through(t testing.TB, databaseURL string, endpoints ...*Endpoint) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	hosts := make([]string, len(endpoints))
	for i, e := range endpoints {
		hosts[i] = e.listener.Addr().String()
	}
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Del("target_session_attrs")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = strings.Join(hosts, ","), query.Encode()
	return u.String()
}

func (e *Endpoint) change(to target) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.target = to
	for conn := range e.open {
		_ = conn.Close() // ends both directions
	}
}

func (e *Endpoint) accept() {
	for {
		client, err := e.listener.Accept()
		if err != nil {
			return // closed
		}
		e.mu.Lock()
		e.accepted++
		e.open[client] = true
		to, freezes := e.target, e.freezes
		if e.frozen {
			to = target{}
		}
		e.mu.Unlock()
		e.work.Go(func() {
			e.serve(to, freezes, client)
			_ = client.Close() // perhaps closed before
			e.mu.Lock()
			delete(e.open, client)
			e.mu.Unlock()
		})
	}
}

func (e *Endpoint) serve(to target, freezes int, client net.Conn) {
	switch {
	case to.refuses:
		backend := pgproto3.NewBackend(client, client)
		if _, err := backend.ReceiveStartupMessage(); err == nil {
			backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P03", Message: "the database system is starting up"})
			_ = backend.Flush() // the client may be gone
		}
		return
	case to.network == "":
		_, _ = io.Copy(io.Discard, client)
		return
	}
	server, err := net.Dial(to.network, to.address) //nolint:noctx // the server is on this machine
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // no data is lost
	go func() {
		_, _ = io.Copy(freezable{e, freezes, client}, server)
		_ = client.Close()
	}()
	_, _ = io.Copy(freezable{e, freezes, server}, client)
}

// freezable drops writes once the endpoint has been frozen again.
type freezable struct {
	endpoint *Endpoint
	freezes  int
	to       io.Writer
}

// Write implements [io.Writer].
func (f freezable) Write(p []byte) (int, error) {
	f.endpoint.mu.Lock()
	frozen := f.freezes != f.endpoint.freezes
	f.endpoint.mu.Unlock()
	if frozen {
		return len(p), nil
	}
	return f.to.Write(p)
}
