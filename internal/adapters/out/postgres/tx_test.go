package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/kit/guard"
)

// secret is a value of rows that no error may contain.
const secret = "sber-42"

func product(sku string) *order.Product {
	price, err := core.ParseMoney("1.00", "RUB")
	if err != nil {
		panic(err)
	}
	now := time.Now()
	return &order.Product{ID: now.UnixNano(), SKU: sku, SellerID: secret, Price: price, Version: 1, CreatedAt: now, UpdatedAt: now, New: true}
}

// inTx runs a transaction with a deadline, and returns how often it was run.
func inTx(t *testing.T, db *postgres.DB, fn func(ctx context.Context, tx order.Tx) error) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	attempts := 0
	err := db.Orders().InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		attempts++
		return fn(ctx, tx)
	})
	return attempts, err
}

// saveTea writes a product. The write is sent together with COMMIT.
func saveTea(ctx context.Context, tx order.Tx) error { return tx.Products.Save(ctx, product("tea")) }

// saveTeaAndRead writes a product and reads it, so that the write is sent before COMMIT.
func saveTeaAndRead(ctx context.Context, tx order.Tx) error {
	if err := saveTea(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Products.Get(ctx, "tea")
	return err
}

const products = "SELECT count(*) FROM product"

// execute runs statements without the store.
func (d *database) execute(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := d.plain.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// refuseProducts makes the server fail the first n inserts of a product.
func (d *database) refuseProducts(t *testing.T, n int, state string) {
	t.Helper()
	d.execute(t,
		"CREATE SEQUENCE refusals",
		fmt.Sprintf(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
			IF nextval('refusals') <= %d THEN
				RAISE EXCEPTION 'message with %s' USING ERRCODE = '%s', DETAIL = 'detail with %s', HINT = 'hint with %s';
			END IF;
			RETURN NEW;
		END $$`, n, secret, state, secret, secret),
		"CREATE TRIGGER refuse BEFORE INSERT ON product FOR EACH ROW EXECUTE FUNCTION refuse()")
}

// carriesNoValues checks that an error neither contains values of rows nor wraps an error
// that does.
func carriesNoValues(t *testing.T, err error) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(format, err); strings.Contains(text, secret) {
			t.Errorf("%s of the error contains a value: %s", format, text)
		}
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		t.Errorf("the error wraps the error of the server: %v", pg)
	}
}

func TestTransaction_RunsAgainAfterALostRace(t *testing.T) {
	t.Parallel()
	for reason, state := range map[string]string{
		"serialization_failure": "40001", "deadlock": "40P01", "unique_violation": "23505",
	} {
		for where, write := range map[string]func(context.Context, order.Tx) error{
			"at COMMIT": saveTea, "at a read": saveTeaAndRead,
		} {
			t.Run(reason+" "+where, func(t *testing.T) {
				t.Parallel()
				d := newDatabase(t)
				d.refuseProducts(t, 4, state)
				db, saw := observed(t, d.url)
				attempts, err := inTx(t, db, write)
				if attempts != 5 || err != nil {
					t.Errorf("%d attempts: %v; want the 5th to succeed", attempts, err)
				}
				if n := d.count(t, products); n != 1 {
					t.Errorf("%d products were stored", n)
				}
				if !slices.Equal(saw.restarts, slices.Repeat([]string{reason}, 4)) || !slices.Equal(saw.runs, []int{5}) {
					t.Errorf("reported %v runs and restarts for %q", saw.runs, saw.restarts)
				}
			})
		}
	}
}

func TestServerErrors_AreClassified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state    string
		attempts int
		atRead   string
		atCommit string
	}{
		"serialization failure": {"40001", 5, unavailable, unavailable},
		"deadlock":              {"40P01", 5, unavailable, unavailable},
		"unique violation":      {"23505", 5, unavailable, unavailable},
		"check violation":       {"23514", 1, defect, defect},
		"undefined table":       {"42P01", 1, defect, defect},
		"lock not available":    {"55P03", 1, unavailable, unavailable},
		"query cancelled":       {"57014", 1, unavailable, unavailable},
		"disk full":             {"53100", 1, unavailable, unavailable},
		"admin shutdown":        {"57P01", 1, unavailable, unknown},
		"too many connections":  {"53300", 1, unavailable, unknown},
		"connection failure":    {"08006", 1, unavailable, unknown},
	} {
		for where, at := range map[string]struct {
			write func(context.Context, order.Tx) error
			want  string
		}{
			"at COMMIT": {saveTea, c.atCommit}, "at a read": {saveTeaAndRead, c.atRead},
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				d := newDatabase(t)
				d.refuseProducts(t, 1000, c.state)
				attempts, err := inTx(t, d.DB, at.write)
				if attempts != c.attempts || err == nil {
					t.Errorf("%d attempts: %v; want %d", attempts, err, c.attempts)
				}
				if got := kindOf(err); got != at.want {
					t.Errorf("got %v; want %s", err, at.want)
				}
				if !strings.Contains(err.Error(), c.state) {
					t.Errorf("the error does not name its SQLSTATE: %v", err)
				}
				carriesNoValues(t, err)
				if n := d.count(t, products); n != 0 {
					t.Errorf("%d products were stored", n)
				}
			})
		}
	}
}

// What the core makes of an error.
const (
	unknown     = "unknown outcome"
	unavailable = "unavailable"
	defect      = "defect"
	none        = "no error"
)

func kindOf(err error) string {
	switch {
	case err == nil:
		return none
	case errors.Is(err, core.ErrOutcomeUnknown):
		return unknown
	case errors.Is(err, core.ErrUnavailable):
		return unavailable
	}
	return defect
}

func TestServerErrors_CarryNoValuesOfRows(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	if _, err := write(t, d.DB, secret); err != nil {
		t.Fatal(err)
	}
	wrong := product("tea")
	wrong.OnHand = -1
	for constraint, p := range map[string]*order.Product{
		"product_pkey": product(secret), "product_check": wrong, "product_sku_check": product(secret + "!"),
	} {
		_, err := inTx(t, d.DB, func(ctx context.Context, tx order.Tx) error { return tx.Products.Save(ctx, p) })
		if err == nil || !strings.Contains(err.Error(), constraint) {
			t.Errorf("got %v; want the name of %s", err, constraint)
		}
		carriesNoValues(t, err)
	}
}

func TestOpen_DoesNotReportThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://orders:" + secret + "@127.0.0.1:1/orders?pool_max_conns=many",
		"postgres://orders:" + secret + "@[::1/orders",
		"host=127.0.0.1 password=" + secret + " port=none",
	} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: url}, postgres.Groups{})
		if err == nil {
			t.Fatalf("%s was accepted", url)
		}
		carriesNoValues(t, err)
	}
}

func TestCommit_IsUnknownWhenItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, order.Tx) error{
		"writes are sent with COMMIT": saveTea, "writes were sent before": saveTeaAndRead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			p, url := d.through(t)
			p.loseAnswerToCommit()
			attempts, err := inTx(t, open(t, url), write)
			if attempts != 1 || !errors.Is(err, core.ErrOutcomeUnknown) || errors.Is(err, core.ErrUnavailable) {
				t.Errorf("%d attempts: %v; want one, of unknown outcome", attempts, err)
			}
			if lost, kept := p.Cuts(), d.count(t, products); lost != 1 || kept != 1 {
				t.Errorf("%d answers were lost, %d products stored; want the server to have committed", lost, kept)
			}
		})
	}
}

// COMMIT of a transaction in which a statement has failed succeeds, and rolls back. A use
// case that overlooks the failure must not be told that its writes are stored.
func TestCommit_ThatRollsBackIsAFailure(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	placeOrder(t, useCasesOn(d.DB))
	impatient := open(t, d.url+"&lock_timeout=50ms")
	lockEverything(t, d)

	err := impatient.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		if _, err := tx.Products.Lock(ctx, "tea", core.GrantEverybody); err == nil {
			t.Error("the product was not locked")
		}
		return nil
	})

	if err == nil {
		t.Error("the transaction was rolled back, and reported as committed")
	}
}

// A retry repeats a defect, so a defect must not look temporary.
func TestDefects_AreNotUnavailable(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	if _, err := inTx(t, d.DB, saveTea); err != nil {
		t.Fatal(err)
	}
	d.execute(t,
		"ALTER TABLE product ALTER name DROP NOT NULL", "UPDATE product SET name = NULL",
		"ALTER TABLE schema_migrations ALTER version TYPE text USING 'one'")
	_, scanErr := inTx(t, d.DB, func(ctx context.Context, tx order.Tx) error {
		_, err := tx.Products.Get(ctx, "tea")
		return err
	})
	_, stateErr := d.State(t.Context())
	for what, err := range map[string]error{"row": scanErr, "state": stateErr} {
		if kindOf(err) != defect {
			t.Errorf("%s: got %v; want a defect", what, err)
		}
	}
}

// Commands that wait, for a lock or for a standby, leave connections to reads.
func TestReads_DoNotWaitForWriters(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	if _, err := inTx(t, d.DB, saveTea); err != nil {
		t.Fatal(err)
	}
	const commands = 12
	db := open(t, d.url+"&pool_max_conns=4")
	release := d.hold(t, "SELECT FROM product FOR UPDATE")
	var ended atomic.Int32
	var all sync.WaitGroup
	for range commands {
		all.Go(func() {
			if _, err := inTx(t, db, lockTea); err != nil {
				t.Error(err)
			}
			ended.Add(1)
		})
	}
	d.awaitWaiters(t, 2)

	for range 2 * commands {
		readTea(t, db)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := db.Orders().InTx(short, saveTea); kindOf(err) != unavailable {
		t.Errorf("a command that found no place: %v", err)
	}
	audited := make(chan error, 1)
	go func() { audited <- auditedRead(t.Context(), db) }()
	readTea(t, db)
	if n := ended.Load(); n > 0 {
		t.Errorf("%d commands have ended: this proves nothing", n)
	}
	release()
	all.Wait()
	if err := <-audited; err != nil || d.count(t, "SELECT count(*) FROM audit_log") != 1 {
		t.Errorf("an audited read: %v", err)
	}
}

func lockTea(ctx context.Context, tx order.Tx) error {
	_, err := tx.Products.Lock(ctx, "tea", core.GrantEverybody)
	return err
}

func readTea(t *testing.T, db *postgres.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := db.Orders().Read(ctx, func(ctx context.Context, tx order.Tx) error {
		_, err := tx.Products.Get(ctx, "tea")
		return err
	}); err != nil {
		t.Errorf("a read: %v", err)
	}
}

// A read can be repeated, so its outcome is never unknown.
func TestRead_IsUnavailableWhenTheAnswerToCommitIsLost(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(ctx context.Context, db *postgres.DB) error{
		"of a list": func(ctx context.Context, db *postgres.DB) error {
			return db.Orders().InTx(ctx, func(ctx context.Context, tx order.Tx) error {
				_, err := tx.Products.List(ctx, core.Page{Limit: 1})
				return err
			})
		},
		"that is audited": auditedRead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, url := newDatabase(t).through(t)
			db := open(t, url)
			p.loseAnswerToCommit()
			if err := read(t.Context(), db); kindOf(err) != unavailable || p.Cuts() != 1 {
				t.Errorf("got %v, and %d answers were lost", err, p.Cuts())
			}
		})
	}
}

func auditedRead(ctx context.Context, db *postgres.DB) error {
	return db.Orders().Read(ctx, func(ctx context.Context, tx order.Tx) error {
		return tx.AuditLog.Add(ctx, core.AuditEntry{Actor: "root", Action: "Read", Resource: "product/tea"})
	})
}

// After a failover or a restart of a pooler, all idle connections are dead.
func TestDeadConnections_AreReplacedBeforeACommandBegins(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(t *testing.T, d *database, p proxy){
		"terminated by the server": func(t *testing.T, d *database, _ proxy) {
			t.Helper()
			d.execute(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'orders' AND datname = current_database()`)
		},
		"cut by the network": func(_ *testing.T, _ *database, p proxy) { p.CutAll() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			p, url := d.through(t)
			db, saw := observed(t, url+"&pool_max_conns=8")
			connectAll(t, db, 4)
			kill(t, d, p)
			if attempts, err := inTx(t, db, saveTea); attempts != 1 || err != nil {
				t.Errorf("InTx: %d attempts: %v", attempts, err)
			}
			if !slices.Equal(saw.restarts, []string{"dead_connection"}) {
				t.Errorf("reported restarts for %q", saw.restarts)
			}
			connectAll(t, db, 4)
			kill(t, d, p)
			if _, err := guarded(t.Context(), db, "key-1", nothing); err != nil {
				t.Errorf("Execute: %v", err)
			}
		})
	}
}

// connectAll makes n connections of the pool, all idle.
func connectAll(t *testing.T, db *postgres.DB, n int) {
	t.Helper()
	var idle []*pgxpool.Conn
	for range n {
		conn, err := db.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	for _, conn := range idle {
		conn.Release()
	}
}

// A transaction is run once more only when its connection broke before it began.
func TestBrokenConnection_RunsATransactionOnceMoreOnlyBeforeItBegan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trips  int64
		stored int
		want   string
	}{
		"at BEGIN":  {0, 1, none},
		"at a read": {1, 0, unavailable},
		"at COMMIT": {2, 1, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			p, url := d.through(t)
			db := open(t, url+"&pool_max_conns=1")
			if _, err := inTx(t, db, saveTeaAndRead); err != nil { // prepares the statements
				t.Fatal(err)
			}
			d.execute(t, "DELETE FROM product")
			p.breakAfter(c.trips)
			attempts, err := inTx(t, db, saveTeaAndRead)
			if attempts != 1 || kindOf(err) != c.want {
				t.Errorf("%d attempts: %v; want one, and %s", attempts, err, c.want)
			}
			if n := d.count(t, products); n != c.stored {
				t.Errorf("%d products were stored, want %d", n, c.stored)
			}
		})
	}
}

// The statements of a connection do not survive a change of their columns, nor a reset by
// a pooler. PostgreSQL has rolled back.
func TestPreparedStatements_ArePreparedAgain(t *testing.T) {
	t.Parallel()
	const nothing = "SELECT"
	for name, c := range map[string]struct{ alter, reset string }{
		"a column has another type":    {"ALTER TABLE product ALTER COLUMN name TYPE varchar(200)", nothing},
		"the statements are forgotten": {nothing, "DEALLOCATE ALL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			db := open(t, d.url+"&pool_max_conns=1")
			if _, err := inTx(t, db, saveTeaAndRead); err != nil { // prepares the statements
				t.Fatal(err)
			}
			d.execute(t, "DELETE FROM product", c.alter)
			if _, err := db.Pool().Exec(t.Context(), c.reset); err != nil {
				t.Fatal(err)
			}
			if _, err := inTx(t, db, saveTeaAndRead); err != nil {
				t.Error(err)
			}
			if n := d.count(t, products); n != 1 {
				t.Errorf("%d products were stored, want 1", n)
			}
		})
	}
}

func TestUnusableDatabase_IsUnavailable(t *testing.T) {
	t.Parallel()
	closed := open(t, newDatabase(t).url)
	closed.Close()
	for what, db := range map[string]*postgres.DB{
		"closed": closed, "unreachable": open(t, "postgres://nobody@127.0.0.1:1/nothing?sslmode=disable"),
	} {
		_, inTxErr := inTx(t, db, saveTea)
		_, _, executeErr := db.Keys().Execute(t.Context(), guard.Claim{}, nil)
		_, _, lookupErr := db.Keys().Lookup(t.Context(), guard.ID{})
		_, cleanErr := db.Keys().DeleteExpired(t.Context(), 1)
		_, stateErr := db.State(t.Context())
		for name, err := range map[string]error{
			"InTx": inTxErr, "Execute": executeErr, "Lookup": lookupErr, "DeleteExpired": cleanErr,
			"State": stateErr,
		} {
			if kindOf(err) != unavailable {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
	}
}

// onlyConnection returns a store with a single connection, and a function that returns
// the number of that connection. Whoever does not release it blocks everybody.
func (d *database) onlyConnection(t *testing.T) (*postgres.DB, func() int) {
	t.Helper()
	db := open(t, d.url+"&pool_max_conns=1&application_name=only")
	if _, err := inTx(t, db, func(context.Context, order.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return db, func() int {
		return d.count(t, "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE application_name = 'only' AND datname = current_database()")
	}
}

func TestConnection_IsReleasedAndUsedAgainAfterAHangUp(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db, number := d.onlyConnection(t)
	before := number()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	err := db.Orders().InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		if err := saveTeaAndRead(ctx, tx); err != nil {
			t.Error(err)
		}
		hangUp()
		return context.Canceled
	})
	if err == nil {
		t.Error("the transaction was committed")
	}
	if _, err := inTx(t, db, saveTea); err != nil {
		t.Errorf("the next transaction: %v", err)
	}
	if after := number(); after != before {
		t.Errorf("connection %d was dropped for %d; want it rolled back and used again", before, after)
	}
	d.expectCount(t, products, 1) // of the next transaction
}

func TestKeyInProgress_TakesNoConnection(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	replica, _ := d.onlyConnection(t)
	_, err := guarded(t.Context(), d.DB, "key-1", func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for range 3 {
			if _, err := guarded(ctx, replica, "key-1", nothing); !errors.Is(err, guard.ErrInProgress) {
				t.Errorf("the other replica got %v", err)
			}
		}
		if _, err := inTx(t, replica, saveTea); err != nil {
			t.Errorf("its one connection is not free: %v", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// A connection that stalls while it draws ids must not stop the others.
func TestIDs_AreDrawnByOthersWhileAConnectionStalls(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	db := open(t, url)
	answer := p.hold(t)
	draw := func(before func() error) <-chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
				_ = before()
				_, err := tx.IDs.NextID(ctx, core.OrderIDs)
				return err
			})
			ended <- err
		}()
		return ended
	}

	stalled := draw(answer.arm)
	<-answer.begun
	expectNil(t, draw(func() error { return nil }))

	answer.release()
	expectNil(t, stalled)
}

// expectNil waits for the end of a transaction, which must succeed.
func expectNil(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testwait.Patience):
		t.Fatal("it did not end")
	}
}

// The locks are made for READ COMMITTED, whatever a role or a URL sets, and a process that
// stalls in a transaction must not keep them.
func TestOpen_SetsWhatTheLocksRelyOn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := open(t, d.url+"&default_transaction_isolation=serializable")
	for setting, want := range map[string]string{
		"transaction_isolation":               "read committed",
		"idle_in_transaction_session_timeout": "15s",
	} {
		var got string
		if err := db.Pool().QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", setting, got, err, want)
		}
	}
}
