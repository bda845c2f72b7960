package pgtest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

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
