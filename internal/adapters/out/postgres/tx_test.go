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
	"github.com/jackc/pgx/v5/pgproto3"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/idempotency"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/migrations"
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
	for name, state := range map[string]string{
		"serialization failure": "40001", "deadlock": "40P01", "unique violation": "23505",
	} {
		for where, write := range map[string]func(context.Context, order.Tx) error{
			"at COMMIT": saveTea, "at a read": saveTeaAndRead,
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				d := newDatabase(t)
				d.refuseProducts(t, 4, state)
				attempts, err := inTx(t, d.DB, write)
				if attempts != 5 || err != nil {
					t.Errorf("%d attempts: %v; want the 5th to succeed", attempts, err)
				}
				if n := d.count(t, products); n != 1 {
					t.Errorf("%d products were stored", n)
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
	if _, err := inTx(t, d.DB, func(ctx context.Context, tx order.Tx) error {
		return tx.Products.Save(ctx, product(secret))
	}); err != nil {
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
		_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		if err == nil {
			t.Fatalf("%s was accepted", url)
		}
		carriesNoValues(t, err)
	}
}

func TestUniqueViolation_FindsTheRowInTheNextRun(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var found *order.Product
	attempts, err := inTx(t, d.DB, func(ctx context.Context, tx order.Tx) error {
		p, err := tx.Products.Get(ctx, "tea")
		if found = p; err == nil {
			return nil
		}
		// Another transaction inserts the product first.
		d.execute(t, `INSERT INTO product (sku, seller_id, name, price, currency, on_hand, created_at, updated_at)
			VALUES ('tea', 'shop-8', 'Tea', 1, 'RUB', 0, now(), now())`)
		return saveTea(ctx, tx)
	})
	if attempts != 2 || err != nil || found == nil || found.SellerID != "shop-8" {
		t.Errorf("%d attempts, found %+v, %v; want the other's product at the second", attempts, found, err)
	}
}

func TestDeadlock_EndsAndBothTransactionsSucceed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := open(t, d.owner+"&deadlock_timeout=20ms")
	if _, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
		return errors.Join(saveTea(ctx, tx), tx.Products.Save(ctx, product("cup")))
	}); err != nil {
		t.Fatal(err)
	}
	var both, all sync.WaitGroup // both first runs wait until each has its first lock
	both.Add(2)
	attempts := make([]int, 2)
	for i, skus := range [][]string{{"tea", "cup"}, {"cup", "tea"}} {
		all.Go(func() {
			var err error
			met := false
			attempts[i], err = inTx(t, db, func(ctx context.Context, tx order.Tx) error {
				for n, sku := range skus {
					p, err := tx.Products.Lock(ctx, sku, core.GrantEverybody)
					if err != nil {
						return err
					}
					p.OnHand++
					if err := tx.Products.Save(ctx, p); err != nil {
						return err
					}
					if n == 0 && !met {
						met = true
						both.Done()
						both.Wait()
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if attempts[0]+attempts[1] < 3 {
		t.Errorf("%v attempts; want a deadlock, and one of the two run again", attempts)
	}
	if n := d.count(t, "SELECT sum(on_hand) FROM product"); n != 4 {
		t.Errorf("%d changes were kept; want 4", n)
	}
}

// Orders of the same products in any sequence wait for each other without a deadlock. A
// deadlock would show as a second run.
func TestBasket_LocksInOneOrder(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := open(t, d.owner+"&pool_max_conns=12&deadlock_timeout=10ms")
	skus := []string{"cup", "fork", "spoon", "tea"}
	if _, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
		for _, sku := range skus {
			if err := tx.Products.Save(ctx, product(sku)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 120 {
		all.Go(func() {
			mine := slices.Clone(skus)
			if i%2 == 0 {
				slices.Reverse(mine)
			}
			attempts, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
				basket, err := tx.Orders.Basket(ctx, order.BasketQuery{CustomerID: secret, SKUs: mine, Grant: core.GrantEverybody})
				if err != nil {
					return err
				}
				return tx.Products.SaveStock(ctx, basket.Stock)
			})
			if attempts != 1 || err != nil {
				t.Errorf("%d attempts: %v", attempts, err)
			}
		})
	}
	all.Wait()
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
			p.loseAnswersToCommit(1)
			attempts, err := inTx(t, open(t, url), write)
			if attempts != 1 || !errors.Is(err, core.ErrOutcomeUnknown) || errors.Is(err, core.ErrUnavailable) {
				t.Errorf("%d attempts: %v; want one, of unknown outcome", attempts, err)
			}
			if lost, kept := p.lostAnswers(), d.count(t, products); lost != 1 || kept != 1 {
				t.Errorf("%d answers were lost, %d products stored; want the server to have committed", lost, kept)
			}
		})
	}
}

// A connection pooler answers for a server that it has lost. Only an error that the
// server alone can report proves that nothing was stored.
func TestCommit_IsUnknownWhenAPoolerAnswersForTheServer(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	db := open(t, url)
	for i, state := range []string{
		"08000", "08003", "08006", "08P01", // connection exceptions
		"40003",                            // statement_completion_unknown
		"57P01", "57P02", "57P03", "57P05", // the server stops or starts, the connection was idle
		"25P03", "25P04", // time-outs of transactions
		"53300", "58000", "58030", "XX000", "ZZ999",
	} {
		for _, severity := range []string{"ERROR", "FATAL"} {
			p.replaceAnswersToCommit(&pgproto3.ErrorResponse{
				Severity: severity, SeverityUnlocalized: severity, Code: state, Message: "server lost",
			})
			attempts, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
				return tx.Products.Save(ctx, product(fmt.Sprint("tea-", i, severity)))
			})
			if attempts != 1 || kindOf(err) != unknown || errors.Is(err, core.ErrUnavailable) {
				t.Errorf("%s %s, %d attempts: %v; want one, of unknown outcome", severity, state, attempts, err)
			}
		}
	}
	if replaced, stored := p.lostAnswers(), d.count(t, products); replaced != stored || stored == 0 {
		t.Errorf("%d answers were replaced, %d products stored; want the server to have committed all", replaced, stored)
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

func TestClosedPool_IsUnavailable(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.Close()
	_, inTxErr := inTx(t, d.DB, saveTea)
	_, _, lookupErr := d.Keys().Lookup(t.Context(), idempotency.ID{})
	for what, err := range map[string]error{"InTx": inTxErr, "Lookup": lookupErr} {
		if kindOf(err) != unavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The server translates the severity of its errors, and sends the original too.
func TestServerErrors_AreClassifiedInEveryLanguage(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	db := open(t, url)
	for i, c := range []struct {
		severity, original, want string
	}{
		{"ОШИБКА", "ERROR", defect},
		{"ВАЖНО", "FATAL", unknown},
	} {
		p.replaceAnswersToCommit(&pgproto3.ErrorResponse{
			Severity: c.severity, SeverityUnlocalized: c.original, Code: "23514",
		})
		_, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
			return tx.Products.Save(ctx, product(fmt.Sprint("tea-", i)))
		})
		if kindOf(err) != c.want {
			t.Errorf("%s: got %v; want %s", c.original, err, c.want)
		}
	}
}

func TestCommit_OfAReadIsUnavailableWhenItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	p.loseAnswersToCommit(1)
	_, err := inTx(t, open(t, url), func(ctx context.Context, tx order.Tx) error {
		_, err := tx.Products.List(ctx, core.Page{Limit: 1})
		return err
	})
	if !errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrOutcomeUnknown) || p.lostAnswers() != 1 {
		t.Errorf("got %v; nothing was written, so nothing is unknown", err)
	}
}

func TestKey_ResolvesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	p.loseAnswersToCommit(1)
	ask := idempotency.Claim{ID: idempotency.ID{Scope: "issuer " + secret, Key: "key-1"}, Fingerprint: "1", Operation: "putProduct"}
	ran := 0
	run := func(db *postgres.DB) func(context.Context) (idempotency.Result, error) {
		return func(ctx context.Context) (idempotency.Result, error) {
			ran++
			response := idempotency.Response{Status: 201, Body: []byte("{}")}
			return idempotency.Result{Response: response, TTL: time.Hour}, db.Orders().InTx(ctx, saveTea)
		}
	}
	far := open(t, url)
	if _, _, err := far.Keys().Execute(t.Context(), ask, run(far)); !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
	rec, replayed, err := d.Keys().Execute(t.Context(), ask, run(d.DB))
	if err != nil || !replayed || rec.Status != 201 || ran != 1 {
		t.Errorf("record %+v, replayed: %v, %v; the command ran %d times", rec, replayed, err, ran)
	}
}

// Only records that were committed may be remembered.
func TestKey_IsFreeAfterAFailedCommit(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.refuseProducts(t, 1, "23514")
	ask := idempotency.Claim{ID: idempotency.ID{Scope: "issuer", Key: "key-1"}, Fingerprint: "1", Operation: "putProduct"}
	run := func(ctx context.Context) (idempotency.Result, error) {
		response := idempotency.Response{Status: 201, Body: []byte("{}")}
		return idempotency.Result{Response: response, TTL: time.Hour}, d.Orders().InTx(ctx, saveTea)
	}
	if _, _, err := d.Keys().Execute(t.Context(), ask, run); err == nil {
		t.Error("the server did not refuse")
	}
	if _, replayed, err := d.Keys().Execute(t.Context(), ask, run); replayed || err != nil {
		t.Errorf("the second time: replayed = %v, %v", replayed, err)
	}
	if n := d.count(t, products); n != 1 {
		t.Errorf("%d products were stored", n)
	}
}

func TestBrokenConnection_StoresNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after func(ctx context.Context, tx order.Tx) error
		want  error
	}{
		"before a read": {func(ctx context.Context, tx order.Tx) error {
			_, err := tx.Products.Get(ctx, "cup")
			return err
		}, core.ErrUnavailable},
		// COMMIT never reached the server, but the client cannot know that.
		"before COMMIT": {func(context.Context, order.Tx) error { return nil }, core.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			p, url := d.through(t)
			db := open(t, url+"&pool_max_conns=1")
			attempts, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
				if err := saveTeaAndRead(ctx, tx); err != nil {
					return err
				}
				p.breakAll()
				return c.after(ctx, tx)
			})
			if attempts != 1 || !errors.Is(err, c.want) {
				t.Errorf("%d attempts: %v; want one, and %v", attempts, err, c.want)
			}
			if _, err := inTx(t, db, saveTea); err != nil {
				t.Errorf("the next transaction: %v", err)
			}
			if n := d.count(t, products); n != 1 {
				t.Errorf("%d products were stored", n)
			}
		})
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
	db := open(t, d.url+"&pool_max_conns=4&application_name=busy")
	holder, err := d.plain.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := holder.Exec(t.Context(), "SELECT FROM product FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	lockTea := func(ctx context.Context, tx order.Tx) error {
		_, err := tx.Products.Lock(ctx, "tea", core.GrantEverybody)
		return err
	}
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
	d.await(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'busy' AND datname = current_database()", 2)

	for range 2 * commands {
		readTea(t, db)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := db.Orders().InTx(short, saveTea); kindOf(err) != unavailable {
		t.Errorf("a command that found no place: %v", err)
	}
	audited := make(chan error, 1)
	go func() {
		audited <- db.Orders().Read(t.Context(), func(ctx context.Context, tx order.Tx) error {
			return tx.AuditLog.Add(ctx, core.AuditEntry{Actor: "root", Action: "Read", Resource: "product/tea"})
		})
	}()
	readTea(t, db)
	if n := ended.Load(); n > 0 {
		t.Errorf("%d commands have ended: this proves nothing", n)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := <-audited; err != nil || d.count(t, "SELECT count(*) FROM audit_log") != 1 {
		t.Errorf("an audited read: %v", err)
	}
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

func TestAuditedRead_IsUnavailableWhenTheAnswerToCommitIsLost(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	p.loseAnswersToCommit(1)
	err := open(t, url).Orders().Read(t.Context(), func(ctx context.Context, tx order.Tx) error {
		return tx.AuditLog.Add(ctx, core.AuditEntry{Actor: "root", Action: "Read", Resource: "product/tea"})
	})
	if kindOf(err) != unavailable || p.lostAnswers() != 1 {
		t.Errorf("got %v; a read can be repeated", err)
	}
}

// After a failover or a restart of a pooler, all idle connections are dead.
func TestDeadConnections_AreReplacedBeforeACommandBegins(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(t *testing.T, d *database, p *proxy){
		"terminated by the server": func(t *testing.T, d *database, _ *proxy) {
			t.Helper()
			d.execute(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'orders' AND datname = current_database()`)
		},
		"cut by the network": func(_ *testing.T, _ *database, p *proxy) { p.breakAll() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			p, url := d.through(t)
			db := open(t, url+"&pool_max_conns=8")
			connectAll(t, db, 4)
			kill(t, d, p)
			if attempts, err := inTx(t, db, saveTea); attempts != 1 || err != nil {
				t.Errorf("InTx: %d attempts: %v", attempts, err)
			}
			connectAll(t, db, 4)
			kill(t, d, p)
			claim := idempotency.Claim{ID: idempotency.ID{Scope: "issuer", Key: "key-1"}, Fingerprint: "1", Operation: "putProduct"}
			_, _, err := db.Keys().Execute(t.Context(), claim, func(context.Context) (idempotency.Result, error) {
				return idempotency.Result{Response: idempotency.Response{Status: 201, Body: []byte("{}")}, TTL: time.Hour}, nil
			})
			if err != nil {
				t.Errorf("Execute: %v", err)
			}
		})
	}
}

// connectAll makes n connections of the pool, all idle.
func connectAll(t *testing.T, db *postgres.DB, n int) {
	t.Helper()
	var connected, all sync.WaitGroup
	connected.Add(n)
	for range n {
		all.Go(func() {
			arrive := sync.OnceFunc(connected.Done)
			defer arrive()
			if _, err := inTx(t, db, func(context.Context, order.Tx) error {
				arrive()
				connected.Wait()
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A transaction is run once more only when its connection broke before it began.
func TestBrokenConnection_RunsATransactionOnceMoreOnlyBeforeItBegan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trips, stored int
		want          string
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

func TestUnreachableServer_IsUnavailable(t *testing.T) {
	t.Parallel()
	db := open(t, "postgres://nobody@127.0.0.1:1/nothing?sslmode=disable")
	_, inTxErr := inTx(t, db, saveTea)
	_, _, executeErr := db.Keys().Execute(t.Context(), idempotency.Claim{}, nil)
	_, _, lookupErr := db.Keys().Lookup(t.Context(), idempotency.ID{})
	_, cleanErr := db.Keys().DeleteExpired(t.Context(), 1)
	_, stateErr := db.State(t.Context())
	for name, err := range map[string]error{
		"InTx": inTxErr, "Execute": executeErr, "Lookup": lookupErr, "DeleteExpired": cleanErr,
		"State": stateErr,
	} {
		if !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
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

func TestConnection_IsReleasedAndUsedAgain(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(cancel context.CancelFunc) error{
		"after an error":  func(context.CancelFunc) error { return errors.New("no") },
		"after a panic":   func(context.CancelFunc) error { panic("a bug") },
		"after a hang-up": func(cancel context.CancelFunc) error { cancel(); return context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			db, number := d.onlyConnection(t)
			before := number()
			func() {
				defer func() { _ = recover() }()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := db.Orders().InTx(ctx, func(ctx context.Context, tx order.Tx) error {
					if err := saveTeaAndRead(ctx, tx); err != nil {
						t.Error(err)
					}
					return fail(cancel)
				})
				if err == nil {
					t.Error("the transaction was committed")
				}
			}()
			if _, err := inTx(t, db, saveTea); err != nil {
				t.Errorf("the next transaction: %v", err)
			}
			if after := number(); after != before {
				t.Errorf("connection %d was dropped for %d; want it rolled back and used again", before, after)
			}
			if n := d.count(t, products); n != 1 {
				t.Errorf("%d products were stored; want the one of the next transaction", n)
			}
		})
	}
}

func TestWaitForALock_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	if _, err := inTx(t, d.DB, saveTea); err != nil {
		t.Fatal(err)
	}
	holder, err := d.plain.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "SELECT FROM product FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	db, _ := d.onlyConnection(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = db.Orders().InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		if err := tx.Products.Save(ctx, product("cup")); err != nil {
			return err
		}
		_, err := tx.Products.Lock(ctx, "tea", core.GrantEverybody)
		return err
	})
	if !errors.Is(err, core.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
		_, err := tx.Products.Get(ctx, "tea")
		return err
	}); err != nil {
		t.Errorf("the next transaction, while the lock is still held: %v", err)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := d.count(t, products); n != 1 {
		t.Errorf("%d products were stored; want the first one", n)
	}
}

func TestPayments_AreReadWithTheirRefunds(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.execute(t, `INSERT INTO orders (customer_id, seller_id, status, total, currency, version, created_by, idempotency_key, created_at, updated_at)
		VALUES ('sber-42', 'shop-7', 'paid', 1, 'RUB', 1, 'sber-42', 'key-1', now(), now())`)
	db, _ := d.onlyConnection(t)
	read := func() (found []*payment.Payment) {
		err := db.Payments().InTx(t.Context(), func(ctx context.Context, tx payment.Tx) (err error) {
			found, err = tx.Payments.Of(ctx, int64(d.count(t, "SELECT id FROM orders")))
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return found
	}
	read() // prepares the statements, so that the next read waits between the two
	other, err := d.plain.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback(context.WithoutCancel(t.Context())) }() // lets the reader go when the test fails
	if _, err := other.Exec(t.Context(), "LOCK TABLE refund"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if found := read(); len(found) == 1 && len(found[0].Refunds) != 1 {
			t.Error("found the payment without its refund")
		}
	})
	d.await(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()", 1)
	if _, err := other.Exec(t.Context(), `WITH p AS (
			INSERT INTO payment (order_id, idempotency_key, amount, currency, method, status, created_by)
			SELECT id, 'key-2', 1, 'RUB', 'balance', 'captured', 'sber-42' FROM orders RETURNING id, order_id)
		INSERT INTO refund (payment_id, order_id, amount, currency, status, full_refund, created_by)
		SELECT id, order_id, 1, 'RUB', 'succeeded', true, 'sber-42' FROM p`); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
}

func TestRefusal_RollsBackToTheSavepoint(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	ask := idempotency.Claim{ID: idempotency.ID{Scope: "issuer", Key: "key-1"}, Fingerprint: "1", Operation: "putProduct"}
	_, _, err := d.Keys().Execute(t.Context(), ask, func(ctx context.Context) (idempotency.Result, error) {
		err := d.Orders().InTx(ctx, func(ctx context.Context, tx order.Tx) error {
			for _, sku := range []string{"tea", "cup", "spoon"} { // each read sends the writes before it
				if err := tx.Products.Save(ctx, product(sku)); err != nil {
					return err
				}
				if _, err := tx.Products.Get(ctx, sku); err != nil {
					return err
				}
			}
			return tx.Products.Save(ctx, product("fork")) // this write has not been sent
		})
		return idempotency.Result{Response: idempotency.Response{Status: 409, Body: []byte("{}")}, Refused: true, TTL: time.Hour}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if kept, records := d.count(t, products), d.count(t, "SELECT count(*) FROM idempotency_record"); kept != 0 || records != 1 {
		t.Errorf("%d products and %d records were stored; want none and one", kept, records)
	}
}

func TestKeyInProgress_TakesNoConnection(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	ask := idempotency.Claim{ID: idempotency.ID{Scope: "issuer", Key: "key-1"}, Fingerprint: "1"}
	replica, _ := d.onlyConnection(t)
	_, _, err := d.Keys().Execute(t.Context(), ask, func(context.Context) (idempotency.Result, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for range 3 {
			if _, _, err := replica.Keys().Execute(ctx, ask, nil); !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("the other replica got %v", err)
			}
		}
		_, err := inTx(t, replica, saveTea) // its one connection is free
		return idempotency.Result{Response: idempotency.Response{Status: 201, Body: []byte("{}")}, TTL: time.Hour}, err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestIDs_AreUniqueAcrossReplicas(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	const callers, each = 4, 130    // blocks hold 100
	given := [2 * callers][]int64{} // one slice each: a lock in the test could hide a missing lock in the store
	replicas := []*postgres.DB{d.DB, open(t, d.url)}
	var begun, all sync.WaitGroup // they draw concurrently
	begun.Add(len(given))
	for i := range given {
		all.Go(func() {
			_, err := inTx(t, replicas[i%2], func(ctx context.Context, tx order.Tx) error {
				begun.Done()
				begun.Wait()
				for range each {
					id, err := tx.IDs.NextID(ctx, core.OrderIDs)
					if err != nil {
						return err
					}
					given[i] = append(given[i], id)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	ids := slices.Concat(given[:]...)
	slices.Sort(ids)
	if different := len(slices.Compact(ids)); different != len(given)*each {
		t.Errorf("%d different ids for %d calls", different, len(given)*each)
	}
}

// A connection that stalls while it draws ids must not stop the others.
func TestIDs_AreDrawnByOthersWhileAConnectionStalls(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	db := open(t, url)
	draw := func(before func()) error {
		_, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
			before()
			_, err := tx.IDs.NextID(ctx, core.OrderIDs)
			return err
		})
		return err
	}
	armed := make(chan struct{})
	var stalls <-chan struct{}
	var release func()
	stalled, other := make(chan error, 1), make(chan error, 1)
	go func() {
		stalled <- draw(func() { stalls, release = p.holdNextAnswer(); close(armed) })
	}()
	<-armed
	defer release()
	<-stalls
	go func() { other <- draw(func() {}) }()
	select {
	case err := <-other:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testwait.Patience):
		t.Error("the other transaction waits for the stalled connection")
	}
	release()
	if err := <-stalled; err != nil {
		t.Error(err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	newest, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change string
		want   postgres.State
	}{
		"migrated":        {"SELECT", postgres.State{SchemaVersion: newest}},
		"broken half way": {"UPDATE schema_migrations SET dirty = true", postgres.State{SchemaVersion: newest, Dirty: true}},
		"of tomorrow":     {"UPDATE schema_migrations SET version = version + 1", postgres.State{SchemaVersion: newest + 1}},
		"emptied":         {"DELETE FROM schema_migrations", postgres.State{}},
		"never migrated":  {"DROP TABLE schema_migrations", postgres.State{}},
		"read-only": {`DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
		END $$`, postgres.State{SchemaVersion: newest, ReadOnly: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.execute(t, c.change)
			if got, err := d.State(t.Context()); got != c.want || err != nil {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}
