package postgres_test

import (
	"context"
	"errors"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// Commands of a stranger and of the owner about one order can share a transaction, which
// locks the order for the owner.
func TestGroup_RefusesStrangersBesideTheOwner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paid    bool
		command func(customer string, orderID int64) command
		effect  string
	}{
		"pay":    {false, pay, "SELECT count(*) FROM payment"},
		"refund": {true, func(customer string, id int64) command { return refund(customer, id, "1.00") }, "SELECT count(*) FROM refund WHERE created_by = 'ann'"},
		"cancel": {true, cancel, "SELECT count(*) FROM orders WHERE cancelled_by = 'ann'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			g := grouped(t, d.url, 1)
			g.stock(t, "tea", 10)
			g.alone(t, credit("ann", "5.00"))
			orderID := g.alone(t, buy("ann", "tea", 2))
			if c.paid {
				g.alone(t, pay("ann", orderID))
			}

			answers := g.together(t, c.command("eve", orderID), c.command("ann", orderID), c.command("eve", orderID))

			expect(t, answers, "forbidden_resource", done, "forbidden_resource")
			d.expectCount(t, c.effect, 1)
			g.expectNoSplit(t)
		})
	}
}

// The store applies the grant of each member by itself, as it does where a command is alone.
func TestGroup_GrantsAnOrderToItsOwnersOnly(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	g.stock(t, "tea", 10)
	orderID := g.alone(t, buy("ann", "tea", 2))
	lock := func(grant core.Grant, want error) command {
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
		lock(core.Grant{Customer: "eve"}, core.ErrNotGranted), lock(core.Grant{Customer: "ann"}, nil),
		lock(core.Grant{Customer: "shop", Seller: "ann"}, core.ErrNotGranted), lock(core.Grant{Seller: "shop"}, nil))

	expect(t, answers, done, done, done, done)
	g.expectNoSplit(t)
}
