package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgxstore"
)

// trace records what is sent to the database: one entry for each round trip.
type trace struct {
	mu   sync.Mutex
	sent []string
}

func (t *trace) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, text)
}

func (t *trace) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.add(data.SQL)
	return ctx
}
func (*trace) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t *trace) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	var all []string
	for _, query := range data.Batch.QueuedQueries {
		first, _, _ := strings.Cut(query.SQL, " ")
		all = append(all, first)
	}
	t.add(strings.Join(all, " "))
	return ctx
}
func (*trace) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*trace) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// newStore returns a store that is traced, on a database with a table of effects.
func newStore(t *testing.T, options ...pgxstore.Option) (*pgxstore.Store, *pgxpool.Pool, *trace) {
	t.Helper()
	pool := testdb.New(t)
	testdb.Exec(t, pool, pgxstore.Schema("idempotency_record")+"CREATE TABLE effect ()")
	cfg, seen := pool.Config(), &trace{}
	cfg.ConnConfig.Tracer = seen
	return pgxstore.New(testdb.Open(t, cfg), options...), pool, seen
}

var claim = guard.Claim{ID: guard.ID{Scope: "alice", Key: "key-1"}, Operation: "transfer", Fingerprint: "\x02some"}

func noEffect(context.Context) (guard.Result, error) {
	return guard.Result{Response: guard.Response{Status: 201}, TTL: time.Hour}, nil
}

func TestExecute_CostsNoRoundTripMoreThanTheTransaction(t *testing.T) {
	t.Parallel()
	s, _, seen := newStore(t)
	for _, want := range [][]string{
		{"begin SELECT SELECT SAVEPOINT", "INSERT commit"},
		{"begin SELECT SELECT SAVEPOINT", "rollback"},
	} {
		seen.sent = nil
		if _, _, err := s.Execute(t.Context(), claim, noEffect); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(seen.sent, want) {
			t.Errorf("sent %q, want %q", seen.sent, want)
		}
	}
}

// A commit waits for the standbys, and a rollback does not.
func TestConfirmReplays_CommitsReplays(t *testing.T) {
	t.Parallel()
	s, _, seen := newStore(t, pgxstore.ConfirmReplays())
	for range 2 {
		seen.sent = nil
		if _, _, err := s.Execute(t.Context(), claim, noEffect); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"begin SELECT SELECT SAVEPOINT", "SELECT commit"}; !slices.Equal(seen.sent, want) {
		t.Errorf("a replay sent %q, want %q", seen.sent, want)
	}
}

// A handler that was written for a transaction of its own ends it. It learns that the
// guard does that, before something commits without a record.
func TestTx_LeavesTheEndToTheGuard(t *testing.T) {
	t.Parallel()
	s, pool, _ := newStore(t)
	_, _, err := s.Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
		tx := pgxstore.Tx(ctx)
		if _, err := tx.Exec(ctx, "INSERT INTO effect DEFAULT VALUES"); err != nil {
			return guard.Result{}, err
		}
		if err := tx.Rollback(ctx); err == nil {
			t.Error("a command can roll its transaction back")
		}
		return guard.Result{}, tx.Commit(ctx)
	})
	if err == nil || testdb.Count(t, pool, "SELECT count(*) FROM effect") != 0 {
		t.Errorf("%v; want an error and no effect", err)
	}
}

// A goroutine that a command leaves behind writes to no connection that is back in the
// pool.
func TestTx_EndsWithTheCommand(t *testing.T) {
	t.Parallel()
	s, _, _ := newStore(t)
	var left []pgx.Tx
	for _, result := range []error{nil, errors.New("failed")} {
		_, _, _ = s.Execute(t.Context(), guard.Claim{ID: guard.ID{Key: fmt.Sprint(result)}}, func(ctx context.Context) (guard.Result, error) {
			left = append(left, pgxstore.Tx(ctx))
			return guard.Result{TTL: time.Hour}, result
		})
	}
	for _, tx := range left {
		if _, err := tx.Exec(t.Context(), "INSERT INTO effect DEFAULT VALUES"); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("a write after the end: %v, want ErrTxClosed", err)
		}
	}
}

// A savepoint of the command is a transaction in the transaction.
func TestTx_BeginsSavepoints(t *testing.T) {
	t.Parallel()
	s, pool, _ := newStore(t)
	_, _, err := s.Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
		for _, sql := range []string{"INSERT INTO effect DEFAULT VALUES", "SELECT 1/0"} {
			_ = pgx.BeginFunc(ctx, pgxstore.Tx(ctx), func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, sql)
				return err
			})
		}
		return noEffect(ctx)
	})
	if err != nil || testdb.Count(t, pool, "SELECT count(*) FROM effect") != 1 {
		t.Errorf("%v; want one effect", err)
	}
}

func TestTx_PanicsOutsideOfACommand(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("there is a transaction")
		}
	}()
	pgxstore.Tx(t.Context())
}
