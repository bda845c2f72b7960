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
	g.transactions.mu.Lock()
	defer g.transactions.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(g.transactions.restarts), func(reason string) bool { return reason != "not_joined" })
	if len(left) != want {
		t.Errorf("transactions restarted: %q; want %d that were not joined", g.transactions.restarts, want)
	}
}

func zoes(amount string) *payment.Balance {
	return &payment.Balance{CustomerID: "zoe", Amount: roubles(amount), Position: 1, New: true}
}

// A command that writes what its group has not loaded runs alone, and the others of the
// group do not notice.
func TestGroup_WritesNothingThatItHasNotLoaded(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	unloaded := g.inPayments(func(ctx context.Context, tx payment.Tx) (string, error) {
		return "", tx.Balances.Save(ctx, zoes("5.00"))
	})

	answers := g.together(t, credit("ann", "1.00"), unloaded, credit("bob", "1.00"))

	expect(t, answers, done, done, done)
	g.expectLeft(t, 1)
	d.expectCount(t, "SELECT amount::int FROM balance WHERE customer_id = 'zoe'", 5)
}

// A load finds what the same command has written before, in a group and alone.
func TestGroup_LoadsWhatTheCommandHasWritten(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	writesFirst := g.inPayments(func(ctx context.Context, tx payment.Tx) (string, error) {
		if err := tx.Balances.Save(ctx, zoes("5.00")); err != nil {
			return "", err
		}
		locked, err := tx.Balances.Lock(ctx, payment.BalanceQuery{CustomerID: "zoe", Currency: "RUB", Kind: payment.EntryCredit})
		if err != nil {
			return "", err
		}
		return locked.Balance.Amount.Decimal(), nil
	})

	answers := g.together(t, credit("ann", "1.00"), writesFirst)

	expect(t, answers, done, done)
	if body := string(answers[1].rec.Body); body != "5.00" {
		t.Errorf("the command found a balance of %s, want the 5.00 that it had written", body)
	}
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

// Which commands load twice may depend on their data. So one that does keeps no other from
// its group.
func TestGroup_JoinsTheNextAfterOneThatLoadsTwice(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	loadsTwice := g.inPayments(func(ctx context.Context, tx payment.Tx) (string, error) {
		for _, customer := range []string{"ann", "bob"} {
			if _, err := tx.Balances.Lock(ctx, payment.BalanceQuery{CustomerID: customer, Currency: "RUB", Kind: payment.EntryCredit}); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	expect(t, g.together(t, loadsTwice, credit("ann", "1.00")), done, done)
	g.expectLeft(t, 1)
	expect(t, g.together(t, credit("ann", "1.00"), credit("bob", "1.00")), done, done)
	if sizes, _ := g.groups(); len(sizes) != 2 {
		t.Errorf("groups of %v; want a second one", sizes)
	}
}

// A command that draws ids does so on the connection of its group. If its client goes away
// meanwhile, the others keep the connection.
func TestGroup_SurvivesACommandThatIsGoneWhileItDrawsIDs(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	g := grouped(t, url, 1)
	var held <-chan struct{}
	var sendAnswer func()
	armed := make(chan struct{})
	draws := g.inPayments(func(ctx context.Context, tx payment.Tx) (string, error) {
		_, err := tx.Balances.Lock(ctx, payment.BalanceQuery{CustomerID: "ann", Currency: "RUB", Kind: payment.EntryCredit})
		if err != nil {
			return "", err
		}
		held, sendAnswer = p.holdNextAnswer()
		close(armed)
		_, err = tx.IDs.NextID(ctx, core.ProductIDs)
		return "", err
	})
	release := g.gather(t)
	defer release()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	gone, stays := g.queue(t, ctx, draws), g.queue(t, t.Context(), credit("bob", "1.00"))
	release()
	<-armed
	defer sendAnswer()
	<-held

	hangUp()
	sendAnswer()

	expect(t, []answer{receive(t, stays)}, done)
	receive(t, gone)
	if sizes, splits := g.groups(); len(sizes) != 1 || splits != 0 {
		t.Errorf("groups of %v, %d splits; want one group", sizes, splits)
	}
}
