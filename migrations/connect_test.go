package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	pgtest "example.com/orders/internal/test/pg"
	pgproxy "example.com/orders/internal/test/pg/proxy"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/migrations"
)

// The grant is visible only when the standby has it, although its process has gone.
func TestGrant_InterruptedCommitIsNotCancelled(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	url := servers.PrimaryURL()
	execute(t, url, "DROP OWNED BY orders_service")
	servers.SetSynchronous(t, true)
	servers.StopStandby()
	link := pgproxy.Start(t, url)
	var left atomic.Bool
	link.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
		if m.Kind == "Terminate" {
			left.Store(true)
		}
		return pgproxy.Forward
	})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	granted := make(chan error, 1)
	go func() {
		_, err := migrations.Grant(ctx, link.URL())
		granted <- err
	}()
	waiting := servers.AwaitCommit(t)

	interrupt()

	if err := <-granted; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want that it was interrupted", err)
	}
	testwait.Until(t, "the driver leaves the connection", left.Load) // it would have cancelled before
	const privileges = "SELECT count(*) FROM information_schema.role_table_grants WHERE grantee = 'orders_service'"
	if n := count(t, url, privileges); n != 0 {
		t.Fatalf("%d privileges, which the standby does not have, are visible", n)
	}
	if pid := servers.AwaitCommit(t); pid != waiting {
		t.Errorf("process %d waits for the standby, want %d", pid, waiting)
	}
	servers.StartStandby(t)
	testwait.Until(t, "the privileges are visible", func() bool { return count(t, url, privileges) > 0 })
}

// What a killed process may have left of the last migration, and of an index.
func TestUp_FinishesAnInterruptedMigration(t *testing.T) {
	t.Parallel()
	const index = "CREATE INDEX CONCURRENTLY next ON outbox (aggregate) WHERE id > 0;\n"
	for name, c := range map[string]struct{ up, left, want string }{
		"no index":               {index, "SELECT", ""},
		"an invalid index":       {index, index + "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'next'::regclass", ""},
		"the index":              {index, index, ""},
		"another index":          {index, "CREATE INDEX next ON outbox (type)", "another index has the name next"},
		"an index to drop":       {"DROP INDEX CONCURRENTLY payment_by_status;\n", "SELECT", ""},
		"no index to drop":       {"DROP INDEX CONCURRENTLY payment_by_status;\n", "DROP INDEX payment_by_status", ""},
		"nothing of a file":      {"CREATE TABLE next (id bigint); CREATE INDEX ON next (id);", "SELECT", ""},
		"everything from a file": {"CREATE TABLE next (id bigint);", "CREATE TABLE next (id bigint)", "UPDATE schema_migrations SET dirty = false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			files, version := withNext(t, c.up)
			for _, statement := range strings.SplitAfter(c.left, ";\n") {
				execute(t, url, statement)
			}
			execute(t, url, fmt.Sprintf("UPDATE schema_migrations SET version = %d, dirty = true", version))

			err := migrations.UpFrom(t.Context(), files, url)

			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("err = %v, want one that says %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Error(err)
			}
			wantVersion(t, url, version)
			if n := count(t, url, "SELECT count(*) FROM pg_index WHERE NOT indisvalid"); n != 0 {
				t.Errorf("%d invalid indexes are left", n)
			}
		})
	}
}

// Each run loses its connection at another answer of the server, as if it were killed.
func TestUp_CanBeKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for name, up := range map[string]string{
		"in a transaction": "CREATE TABLE next (id bigint); ALTER TABLE outbox ADD COLUMN next text;",
		"concurrently":     "CREATE INDEX CONCURRENTLY next ON outbox (aggregate);\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step := int64(1); ; step++ {
				url := pgtest.New(t)
				files, version := withNext(t, up)
				p := pgproxy.Start(t, url)
				var answers atomic.Int64
				p.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
					if m.Kind == "ReadyForQuery" && answers.Add(1) >= step {
						return pgproxy.CutBefore
					}
					return pgproxy.Forward
				})
				killed := migrations.UpFrom(t.Context(), files, p.URL())
				if err := migrations.UpFrom(t.Context(), files, url); err != nil {
					t.Errorf("after answer %d: %v", step, err)
				}
				wantVersion(t, url, version)
				if killed == nil {
					return
				}
			}
		})
	}
}
