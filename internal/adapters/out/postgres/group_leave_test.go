package postgres_test

import (
	"context"
	"slices"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

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
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
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
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	g.stock(t, "tea", 10)
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
