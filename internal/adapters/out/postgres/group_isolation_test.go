package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres/admission"
	pgrecords "example.com/orders/internal/adapters/out/postgres/records"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	testwait "example.com/orders/internal/test/wait"
)

// hold locks rows in a transaction that stays open until release is called.
func (d *database) hold(t *testing.T, query string) (release func()) {
	t.Helper()
	_, release = d.holder(t, query)
	return release
}

// holder is hold with the transaction.
func (d *database) holder(t *testing.T, query string) (holder pgx.Tx, release func()) {
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
	return holder, release
}

// A command that waits for a row that another transaction holds does so alone. The others
// of its group, and those that come later, do not wait with it.
func TestGroup_HeldRowDelaysWhoWantsIt(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=8", 1)
	g.alone(t, credit("ann", "1.00"))
	giveUp := d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")

	first := g.begin(t, credit("bob", "1.00"), credit("eve", "1.00"), credit("ann", "1.00"))
	expect(t, collect(t, first[:2]), done, done)
	_, splits := g.groups()
	if splits == 0 {
		t.Error("the group was not split")
	}

	// While ann's command waits alone, the next of hers leaves its group before it waits.
	next := g.begin(t, credit("bob", "1.00"), credit("ann", "1.00"))
	expect(t, collect(t, next[:1]), done)
	if _, after := g.groups(); after != splits {
		t.Errorf("%d splits, then %d; want no more", splits, after)
	}
	select {
	case a := <-first[2]:
		t.Errorf("ann was answered while her balance was held: %s, %v", a.outcome(), a.err)
	default:
	}
	giveUp()
	expect(t, collect(t, []<-chan answer{first[2], next[1]}), done, done)
	d.expectCount(t, "SELECT amount::int FROM balance WHERE customer_id = 'ann'", 3)
}

// A command whose group failed has lost its key. A duplicate in another replica may try the
// key in that moment, and wait for the same row until its lane gives up. The command waits
// longer and goes on, instead of taking the duplicate for the first request: each would
// answer that the other one is in progress.
func TestGroup_CommandThatWaitsAloneGetsItsKeyBack(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=8", 1)
	g.alone(t, credit("ann", "1.00"))
	giveUp := d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")
	anns := credit("ann", "1.00")
	g.Places.RecordPace(time.Hour)
	members := g.begin(t, credit("bob", "1.00"), anns)
	d.await(t, advisoryLocks+"l.granted", 2) // the group has its keys
	// The duplicate gets the key when the group has given it up.
	duplicate, duplicateGone := d.holder(t, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", pgrecords.LockID(anns.claim.ID)))

	d.await(t, advisoryLocks+"NOT l.granted", 1) // ann's command waits for its key
	_, err := duplicate.Exec(t.Context(), fmt.Sprintf("SET LOCAL lock_timeout = '%s'; SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE",
		admission.MaxLockTimeout))
	if err == nil {
		t.Error("the duplicate got ann's balance, which is held")
	}
	duplicateGone()
	giveUp()

	expect(t, collect(t, members), done, done)
}

// A group locks what its commands are about to change, each as it would alone.
func TestGroup_LocksWhatItsCommandsChange(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	var members []command
	for _, customer := range []string{"ann", "bob"} {
		g.alone(t, credit(customer, "5.00"))
		members = append(members, pay(customer, g.alone(t, buy(customer, "tea", 1))))
	}
	members[1] = members[1].then(func() error {
		for _, table := range []string{"orders", "product", "balance"} {
			d.isLocked(t, table)
		}
		return nil
	})

	answers := g.together(t, members...)

	expect(t, answers, done, done)
	g.expectNoSplit(t)
}

// The audit log has the commands that took effect.
func TestGroup_AuditsItsCommands(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	root := core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}
	audited := func() command {
		return newCommand("creditBalance", func(ctx context.Context, u useCases, key string) (string, error) {
			_, _, err := u.payments.CreditBalance(ctx, root, payment.ChangeBalance{CustomerID: "bob", Amount: roubles("1.00"), Key: key})
			return "", err
		})
	}

	answers := g.together(t, audited(), credit("ann", "1.00"), audited(), audited().then(refused))

	expect(t, answers, done, done, done, "invalid_order_state")
	d.expectCount(t, "SELECT count(*) FROM audit_log WHERE actor = 'root' AND action = 'CreditBalance' AND resource = 'balance/bob' AND metadata IS NOT NULL", 2)
	d.expectCount(t, "SELECT count(*) FROM audit_log", 2)
}

// Commands of an operation that cannot be joined run alone, and later ones do not wait for
// a group.
func TestGroup_LeavesOutWhatItCannotJoin(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
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
	waiting := busy.start(t.Context(), credit("ann", "1.00").by("busy"))
	d.awaitWaiters(t, 1)
	expect(t, []answer{receive(t, busy.start(t.Context(), stored))}, "replayed: done")
	giveUp()
	expect(t, []answer{receive(t, waiting)}, done)
}

// The store applies the grant of each member by itself, as it does where a command is alone.
func TestGroup_GrantsAnOrderToItsOwnersOnly(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	orderID, another := g.alone(t, buy("ann", "tea", 2)), g.alone(t, buy("bob", "tea", 2))
	lock := func(orderID int64, grant core.Grant, want error) command {
		return newCommand("cancelOrder", func(ctx context.Context, _ useCases, _ string) (string, error) {
			return "", g.Payments().InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
				_, err := tx.OrderPayments.Lock(ctx, orderID, grant)
				switch {
				case errors.Is(err, want):
					return nil
				case err == nil:
					return errors.New("a stranger has locked the order")
				}
				return err
			})
		})
	}

	answers := g.together(t,
		lock(orderID, core.Grant{Customer: "eve"}, core.ErrNotGranted), lock(orderID, core.Grant{Customer: "ann"}, nil),
		lock(orderID, core.Grant{Customer: "shop", Seller: "ann"}, core.ErrNotGranted), lock(orderID, core.Grant{Seller: "shop"}, nil))
	expect(t, answers, done, done, done, done)

	// Nobody in this group may lock the first order.
	answers = g.together(t,
		lock(orderID, core.Grant{Customer: "eve"}, core.ErrNotGranted),
		lock(another, core.Grant{Customer: "bob"}, nil).then(func() error {
			d.execute(t, fmt.Sprintf("SELECT FROM orders WHERE id = %d FOR UPDATE NOWAIT", orderID))
			return nil
		}))
	expect(t, answers, done, done)
	g.expectNoSplit(t)
}

// A transaction elsewhere holds a product. Twenty customers order it, and their commands
// wait. Everything else goes on: commands outside groups find a connection.
func TestHeldRow_StopsOnlyItsWaiters(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=5", 2)
	g.stock(t, "tea", 100)
	giveUp := d.hold(t, "SELECT FROM product WHERE sku = 'tea' FOR UPDATE")
	waiting := make([]<-chan answer, 20)
	for i := range waiting {
		waiting[i] = g.start(t.Context(), buy(fmt.Sprint("customer-", i), "tea", 1))
	}
	d.awaitWaiters(t, g.Places.MaxShare())

	for i := range waiting { // each can find the last place taken
		g.stock(t, fmt.Sprint("cup-", i), 1)
	}
	g.alone(t, credit("bob", "1.00"))

	giveUp()
	for i, a := range collect(t, waiting) {
		if a.outcome() != done {
			t.Errorf("order %d: %s, %v", i, a.outcome(), a.err)
		}
	}
	d.expectCount(t, "SELECT reserved FROM product WHERE sku = 'tea'", len(waiting))
}

// A command whose request ends while it waits has had no effect.
func TestHeldRow_WaiterAnswersItsDeadline(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=5", 2)
	g.alone(t, credit("ann", "1.00"))
	defer d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")()
	ctx, giveUp := context.WithCancel(t.Context())
	waiting := g.start(ctx, credit("ann", "1.00"))
	d.awaitWaiters(t, 1)

	giveUp()

	expect(t, []answer{receive(t, waiting)}, unavailable)
	d.expectCount(t, "SELECT count(*) FROM ledger_entry", 1)
}

// awaitWaiters waits until at least so many connections wait for a lock.
func (d *database) awaitWaiters(t *testing.T, n int) {
	t.Helper()
	testwait.Until(t, fmt.Sprint(n, " connections wait for a lock"), func() bool {
		return d.count(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") >= n
	})
}

// inPayments is a command on the stores of payments.
func (g *grouping) inPayments(fn func(ctx context.Context, tx payment.Tx) (body string, err error)) command {
	return newCommand("creditBalance", func(ctx context.Context, _ useCases, _ string) (body string, err error) {
		err = g.Payments().InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			body, err = fn(ctx, tx)
			return err
		})
		return body, err
	})
}

// expectLeft checks how many commands have left their groups because they cannot be joined.
func (g *grouping) expectLeft(t *testing.T, want int) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(g.restarts), func(reason string) bool { return reason != "not_joined" })
	if len(left) != want {
		t.Errorf("transactions restarted: %q; want %d that were not joined", g.restarts, want)
	}
}

// A command that writes what its group has not loaded runs alone, and the others of the
// group do not notice.
func TestGroup_WritesNothingThatItHasNotLoaded(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	unloaded := g.inPayments(func(ctx context.Context, tx payment.Tx) (string, error) {
		return "", tx.Balances.Save(ctx, &payment.Balance{CustomerID: "zoe", Amount: roubles("5.00"), Position: 1, New: true})
	})

	answers := g.together(t, credit("ann", "1.00"), unloaded, credit("bob", "1.00"))

	expect(t, answers, done, done, done)
	g.expectLeft(t, 1)
	d.expectCount(t, "SELECT amount::int FROM balance WHERE customer_id = 'zoe'", 5)
}

// A write that has no form for many rows changes what later members do not see. If it is not
// about the order that its command has loaded, they could not be kept from it.
func TestGroup_LeavesOutPlainWritesOfOtherRows(t *testing.T) {
	t.Parallel()
	_, g := newGroup(t)
	g.alone(t, credit("ann", "2.00"))
	orderID := g.alone(t, buy("ann", "tea", 2))
	paymentID := g.alone(t, pay("ann", orderID))
	fails := g.inPayments(func(ctx context.Context, tx payment.Tx) (string, error) {
		_, err := tx.Balances.Lock(ctx, payment.BalanceQuery{CustomerID: "ann", Currency: "RUB", Kind: payment.EntryCredit})
		if err != nil {
			return "", err
		}
		return "", tx.Payments.Save(ctx, &payment.Payment{ID: paymentID, Status: payment.Failed})
	})

	answers := g.together(t, fails, refund("ann", orderID, "1.00"))

	expect(t, answers[:1], done)
	g.expectLeft(t, 1)
}

// A command that draws ids does so on the connection of its group. If its client goes away
// meanwhile, the others keep the connection.
func TestGroup_SurvivesACommandThatIsGoneWhileItDrawsIDs(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	g := grouped(t, url, 1)
	drawn := p.hold(t)
	draws := g.inPayments(func(ctx context.Context, tx payment.Tx) (string, error) {
		_, err := tx.Balances.Lock(ctx, payment.BalanceQuery{CustomerID: "ann", Currency: "RUB", Kind: payment.EntryCredit})
		if err != nil {
			return "", err
		}
		_ = drawn.arm()
		_, err = tx.IDs.NextID(ctx, core.ProductIDs)
		return "", err
	})
	release := g.gather(t)
	defer release()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	gone, stays := g.queue(t, ctx, draws), g.queue(t, t.Context(), credit("bob", "1.00"))
	release()
	<-drawn.begun

	hangUp()
	drawn.release()

	expect(t, []answer{receive(t, stays)}, done)
	receive(t, gone)
	if sizes, splits := g.groups(); len(sizes) != 1 || splits != 0 {
		t.Errorf("groups of %v, %d splits; want one group", sizes, splits)
	}
}
