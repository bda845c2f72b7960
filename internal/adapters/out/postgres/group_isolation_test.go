package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	testwait "example.com/orders/internal/test/wait"
)

// hold locks rows in a transaction that stays open until release is called.
func (d *database) hold(t *testing.T, query string) (release func()) {
	t.Helper()
	holder, err := d.plain.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = holder.Rollback(context.WithoutCancel(t.Context())) })
	t.Cleanup(release)
	if _, err := holder.Exec(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	return release
}

// A command that waits for a row that another transaction holds does so alone. The others
// of its group, and those that come later, do not wait with it.
func TestGroup_HeldRowDelaysWhoWantsIt(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=8", 1)
	g.alone(t, credit("ann", "1.00"))
	giveUp := d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")

	release := g.gather(t)
	defer release()
	bob, ann := g.queue(t, t.Context(), credit("bob", "1.00")), g.queue(t, t.Context(), credit("ann", "1.00"))
	eve := g.queue(t, t.Context(), credit("eve", "1.00"))
	release()
	expect(t, collect(t, []<-chan answer{bob, eve}), done, done)
	_, splits := g.groups()
	if splits == 0 {
		t.Error("the group was not split")
	}

	// While ann's command waits alone, the next of hers leaves its group before it waits.
	again := g.gather(t)
	defer again()
	bob, next := g.queue(t, t.Context(), credit("bob", "1.00")), g.queue(t, t.Context(), credit("ann", "1.00"))
	again()
	expect(t, []answer{receive(t, bob)}, done)
	if _, after := g.groups(); after != splits {
		t.Errorf("%d splits, then %d; want no more", splits, after)
	}
	select {
	case a := <-ann:
		t.Errorf("ann was answered while her balance was held: %s, %v", a.outcome(), a.err)
	default:
	}
	giveUp()
	expect(t, collect(t, []<-chan answer{ann, next}), done, done)
	d.expectCount(t, "SELECT amount::int FROM balance WHERE customer_id = 'ann'", 3)
}

// A command whose group failed has lost its key. A duplicate in another replica may try the
// key in that moment. The command waits for it and goes on, instead of taking the duplicate
// for the first request: each would answer that the other one is in progress.
func TestGroup_CommandThatWaitsAloneGetsItsKeyBack(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=8", 1)
	g.alone(t, credit("ann", "1.00"))
	giveUp := d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")
	anns := credit("ann", "1.00")
	g.Keys().WaitLongForRows()
	advisoryLocks := func(condition string) int {
		return d.count(t, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE d.datname = current_database() AND l.locktype = 'advisory' AND `+condition)
	}
	release := g.gather(t)
	defer release()
	bob, ann := g.queue(t, t.Context(), credit("bob", "1.00")), g.queue(t, t.Context(), anns)
	release()
	testwait.Until(t, "the group has its keys", func() bool { return advisoryLocks("l.granted") == 2 })
	// The duplicate gets the key when the group has given it up.
	duplicateGone := d.hold(t, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", postgres.LockID(anns.claim.ID)))

	testwait.Until(t, "ann's command waits for its key", func() bool {
		return advisoryLocks("NOT l.granted") == 1
	})
	duplicateGone()
	giveUp()

	expect(t, collect(t, []<-chan answer{bob, ann}), done, done)
}

// Groups of two lanes lock the rows of several commands each. They lock them in one order,
// whatever the sequence of their commands is, so that they do not deadlock.
func TestGroup_LocksInOneOrder(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.owner+"&pool_max_conns=8&deadlock_timeout=5ms", 2)
	skus := []string{"cup", "fork", "spoon", "tea"}
	for _, sku := range skus {
		g.stock(t, sku, 1000)
	}
	const rounds = 3
	for range rounds {
		release := g.gather(t)
		var answered []<-chan answer
		for i := range 2 * largestGroup {
			basket := slices.Clone(skus)
			if i%2 == 0 {
				slices.Reverse(basket)
			}
			name := basket[i/2%len(basket)]
			answered = append(answered, g.queue(t, t.Context(),
				[]command{credit(name, "1.00"), buyAll(name, basket)}[i/8%2]))
		}
		release()
		for i, a := range collect(t, answered) {
			if a.outcome() != done {
				t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
			}
		}
	}
	d.expectCount(t, "SELECT sum(amount)::int FROM balance", rounds*largestGroup)
	d.expectCount(t, "SELECT sum(reserved) FROM product", rounds*largestGroup*len(skus))
	g.Close() // connections that end hand their counts in
	d.expectCount(t, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()", 0)
}

// A group locks what its commands are about to change, each as it would alone.
func TestGroup_LocksWhatItsCommandsChange(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	g.stock(t, "tea", 10)
	g.alone(t, credit("ann", "5.00"))
	orderID := g.alone(t, buy("ann", "tea", 1))
	isLocked := func(tables ...string) func() error {
		return func() error {
			for _, table := range tables {
				_, err := d.plain.Exec(t.Context(), "SELECT FROM "+table+" FOR UPDATE NOWAIT")
				if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "55P03" { // lock_not_available
					t.Errorf("the rows of %s are not locked: %v", table, err)
				}
			}
			return nil
		}
	}
	expect(t, g.together(t, credit("ann", "1.00").then(isLocked("balance"))), done)
	expect(t, g.together(t, buy("ann", "tea", 1).then(isLocked("product"))), done)
	expect(t, g.together(t, pay("ann", orderID).then(isLocked("orders WHERE id = "+strconv.FormatInt(orderID, 10), "product", "balance"))), done)
}

// buyAll is an order of one of each product.
func buyAll(customer string, skus []string) command {
	var cmd order.CreateOrder
	for _, sku := range skus {
		cmd.Items = append(cmd.Items, order.Item{SKU: sku, Quantity: 1})
	}
	return createOrder(customer, cmd)
}

var root = core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}

// A read by an administrator cannot be joined, because it writes to the audit log what it
// has read. It runs alone, and the others keep their group.
func TestGroup_AuditsReadsAndCommands(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	g.alone(t, credit("ann", "1.00"))
	audited := func() command {
		return newCommand("creditBalance", func(ctx context.Context, u useCases, key string) (string, error) {
			_, _, err := u.payments.CreditBalance(ctx, root, payment.ChangeBalance{CustomerID: "bob", Amount: roubles("1.00"), Key: key})
			return "", err
		})
	}
	read := newCommand("getBalance", func(ctx context.Context, u useCases, _ string) (string, error) {
		balances, err := u.payments.GetBalance(ctx, root, "ann")
		if err != nil {
			return "", err
		}
		return balances[0].Amount.Decimal(), nil
	})
	answers := g.together(t, audited(), read, credit("ann", "1.00"), audited(), audited().then(refused))
	expect(t, answers, done, done, done, done, "invalid_order_state")
	if body := string(answers[1].rec.Body); body != "2.00" {
		t.Errorf("the read found %s; want what its group had committed", body)
	}
	d.expectCount(t, "SELECT count(*) FROM audit_log WHERE actor = 'root' AND action = 'CreditBalance' AND resource = 'balance/bob' AND metadata IS NOT NULL", 2)
	d.expectCount(t, "SELECT count(*) FROM audit_log WHERE actor = 'root' AND action = 'GetBalance' AND resource = 'balance/ann'", 1)
	d.expectCount(t, "SELECT count(*) FROM audit_log", 3)
}

// Commands of an operation that cannot be joined run alone, and later ones do not wait for
// a group.
func TestGroup_LeavesOutWhatItCannotJoin(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	g.stock(t, "tea", 10)
	first, second := g.alone(t, buy("ann", "tea", 1)), g.alone(t, buy("ann", "tea", 1))
	expect(t, g.together(t, reserve("ann", first), credit("ann", "1.00")), done, done)
	defer g.gather(t)()
	expect(t, []answer{g.execute(t.Context(), reserve("ann", second))}, done) // although nothing frees a lane
	d.expectCount(t, "SELECT count(*) FROM reservation_extension", 2)
}

// A principal whose commands use all of their share retries one that another process has
// run.
func TestKeys_DuplicatesNeedNoPlace(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	busy, elsewhere := grouped(t, d.url+"&pool_max_conns=4", 0), grouped(t, d.url, 0) // a share of one
	stored := credit("bob", "1.00").by("busy")
	elsewhere.alone(t, stored)
	elsewhere.alone(t, credit("ann", "1.00"))
	giveUp := d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")
	waiting := make(chan answer, 1)
	go func() { waiting <- busy.execute(t.Context(), credit("ann", "1.00").by("busy")) }()
	d.await(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()", 1)
	replay := make(chan answer, 1)
	go func() { replay <- busy.execute(t.Context(), stored) }()
	expect(t, []answer{receive(t, replay)}, "replayed: done")
	giveUp()
	expect(t, []answer{receive(t, waiting)}, done)
}

// A principal with many commands does not delay that of another. There is one connection, so
// that groups run one after another.
func TestGroup_TakesTurnsAmongPrincipals(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=1", 1)
	release := g.gather(t)
	defer release()
	many := make([]<-chan answer, 300)
	for i := range many {
		many[i] = g.queue(t, t.Context(), credit(fmt.Sprint("customer-", i), "1.00").by("busy"))
	}
	last := g.queue(t, t.Context(), credit("bob", "1.00"))
	release()
	one := receive(t, last)
	expect(t, []answer{one}, done)
	inItsGroup, before := 0, 0
	for _, a := range collect(t, many) {
		if a.outcome() != done {
			t.Errorf("%s, %v", a.outcome(), a.err)
		}
		switch a.rec.CreatedAt.Compare(one.rec.CreatedAt) {
		case 0:
			inItsGroup++
		case -1:
			before++
		}
	}
	if before != 0 || inItsGroup != largestGroup-1 {
		t.Errorf("%d commands ran before the one of another, and %d in its group; want none, and the rest of the first group", before, inItsGroup)
	}
}
