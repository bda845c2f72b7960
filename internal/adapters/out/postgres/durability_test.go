package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core/payment/reconcile"
	pgproxy "example.com/orders/internal/test/pg/proxy"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
)

// refuseForgettable makes the database refuse writes whose COMMIT does not wait for the disk.
const refuseForgettable = `CREATE FUNCTION refuse_forgettable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') <> 'on' THEN
        RAISE 'a write of % could be forgotten', TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TRIGGER forgettable BEFORE INSERT OR UPDATE OR DELETE ON %I EXECUTE FUNCTION refuse_forgettable()', name);
    END LOOP;
END $$`

// A setting of the database or of the role decides only for sessions that say nothing.
func TestWrites_AreDurableWhateverTheDatabaseSets(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.execute(t, refuseForgettable, `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
	END $$`)
	for name, cfg := range map[string]postgres.Config{
		"direct": {URL: d.url}, "pooled": {URL: pgbouncertest.Start(t, d.url, 4), Pooled: true},
	} {
		db := openWith(t, cfg, postgres.Groups{})
		for kind, write := range kindsOfWrites {
			if err := write(t.Context(), db); err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
	placeOrder(t, useCasesOn(open(t, d.url)))
}

// kindsOfWrites has an example for each way in which the store commits.
var kindsOfWrites = map[string]func(ctx context.Context, db *postgres.DB) error{
	"a guarded command": func(ctx context.Context, db *postgres.DB) error {
		_, err := guarded(ctx, db, "key-1", nothing)
		return err
	},
	"the relay's lease": func(ctx context.Context, db *postgres.DB) error {
		_, err := db.Outbox().Lease(ctx, "relay", time.Minute)
		return err
	},
	"its end": func(ctx context.Context, db *postgres.DB) error { return db.Outbox().Release(ctx, "relay") },
	"marks": func(ctx context.Context, db *postgres.DB) error {
		return db.Outbox().MarkPublished(ctx, []string{uuid.Nil.String()})
	},
	"clean-up of events": func(ctx context.Context, db *postgres.DB) error {
		_, err := db.Outbox().DeletePublished(ctx, time.Hour, 1)
		return err
	},
	"clean-up of records": func(ctx context.Context, db *postgres.DB) error {
		_, err := db.Keys().DeleteExpired(ctx, 1)
		return err
	},
	"clean-up of messages": func(ctx context.Context, db *postgres.DB) error {
		_, err := db.DeleteOldMessages(ctx, 1)
		return err
	},
	"the progress of reconciliation": func(ctx context.Context, db *postgres.DB) error {
		_, err := db.SavePass(ctx, reconcile.Pass{})
		return err
	},
	"the name of the database": func(ctx context.Context, db *postgres.DB) error { return db.RenewIncarnation(ctx) },
}

func TestCheckDurability_RefusesWhatLosesAcknowledgedCommits(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for level, want := range map[string]string{
		"": "", "on": "", "remote_apply": "", // the server has no synchronous standby:
		"local": "", "remote_write": "",
		"off": "synchronous_commit=off in the database URL",
	} {
		err := open(t, d.url+"&synchronous_commit="+level).CheckDurability(t.Context())
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: %v; want %q", level, err, want)
		}
	}
}

// proxy forwards the traffic between a store and its server, and breaks connections
// where a test asks for it.
type proxy struct{ *pgproxy.Proxy }

// through starts a proxy and returns the URL of the database behind it.
func (d *database) through(t *testing.T) (proxy, string) {
	t.Helper()
	p := pgproxy.Start(t, d.url)
	return proxy{p}, p.URL()
}

// loseAnswerToCommit breaks a connection once, after the server has committed and before
// the client learns of it.
func (p proxy) loseAnswerToCommit() {
	p.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
		if m.AnswersCommit() && p.Cuts() == 0 {
			return pgproxy.CutBefore
		}
		return pgproxy.Forward
	})
}

// hold delays the first answer of the server after arm, and what follows on its
// connection, until release.
type hold struct {
	arm     func() error
	begun   <-chan struct{}
	release func()
}

func (p proxy) hold(t *testing.T) hold {
	t.Helper()
	begun, released := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	var held atomic.Bool
	arm := func() error {
		p.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
			if m.From == pgproxy.Server && held.CompareAndSwap(false, true) {
				close(begun)
				<-released
			}
			return pgproxy.Forward
		})
		return nil
	}
	return hold{arm, begun, release}
}

// breakAfter breaks the connection that makes a round trip after n others, once. The
// server has done what it was asked for, but its answer is lost.
func (p proxy) breakAfter(n int64) {
	var trips atomic.Int64
	p.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
		if m.Kind == "ReadyForQuery" && trips.Add(1) == n+1 {
			return pgproxy.CutBefore
		}
		return pgproxy.Forward
	})
}
