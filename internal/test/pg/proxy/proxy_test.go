package pgproxy_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
	pgproxy "example.com/orders/internal/test/pg/proxy"
	testwait "example.com/orders/internal/test/wait"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fixture is a connection through a proxy, and one past it.
type fixture struct {
	*pgproxy.Proxy
	conn, direct *pgx.Conn
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	databaseURL := pgtest.New(t)
	proxy := pgproxy.Start(t, databaseURL)
	f := fixture{proxy, connect(t, proxy.URL()), connect(t, databaseURL)}
	if _, err := f.direct.Exec(t.Context(), "create table effect (n int)"); err != nil {
		t.Fatal(err)
	}
	return f
}

func connect(t *testing.T, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// write sends two writes and their COMMIT together, as the service does.
func write(t *testing.T, conn *pgx.Conn) error {
	t.Helper()
	batch := &pgx.Batch{}
	for _, sql := range []string{"begin", insert, insert, "commit"} {
		batch.Queue(sql)
	}
	return conn.SendBatch(t.Context(), batch).Close()
}

const insert = "insert into effect values (1)"

// A cut decides what the server has done: nothing before it got COMMIT, everything after.
func TestHook_Cuts(t *testing.T) {
	t.Parallel()
	sends := func(m pgproxy.Message) bool { return m.Kind == "Execute" && m.Statement == "commit" }
	for name, c := range map[string]struct {
		at      func(pgproxy.Message) bool
		verdict pgproxy.Verdict
		effects int
	}{
		"before COMMIT is sent":           {sends, pgproxy.CutBefore, 0},
		"within COMMIT":                   {sends, pgproxy.CutWithin, 0},
		"after COMMIT is sent":            {sends, pgproxy.CutAfter, 2},
		"before the answer to COMMIT":     {pgproxy.Message.AnswersCommit, pgproxy.CutBefore, 2},
		"within the answer to COMMIT":     {pgproxy.Message.AnswersCommit, pgproxy.CutWithin, 2},
		"after the answer to COMMIT":      {pgproxy.Message.AnswersCommit, pgproxy.CutAfter, 2},
		"before the second write is sent": {func(m pgproxy.Message) bool { return m.Number > 4 && m.Kind == "Bind" }, pgproxy.CutBefore, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
				if c.at(m) {
					return c.verdict
				}
				return pgproxy.Forward
			})
			if err := write(t, f.conn); err == nil {
				t.Error("the client did not see the cut")
			}
			if f.Cuts() != 1 {
				t.Errorf("%d cuts, want 1", f.Cuts())
			}
			testwait.Until(t, "the server has ended the connection", func() bool {
				return count(t, f.direct, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()`) == 1
			})
			if n := count(t, f.direct, "SELECT count(*) FROM effect"); n != c.effects {
				t.Errorf("%d effects, want %d", n, c.effects)
			}
		})
	}
}

func count(t *testing.T, conn *pgx.Conn, query string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
