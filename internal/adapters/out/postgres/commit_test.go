package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

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

// A server that ends a connection may have committed before, whatever reason it reports.
func TestCommit_IsUnknownAfterAFatalError(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	p.replaceAnswersToCommit(&pgproto3.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "53200", Message: "out of memory",
	})

	attempts, err := inTx(t, open(t, url), saveTea)

	if attempts != 1 || kindOf(err) != unknown {
		t.Errorf("%d attempts: %v; want one, of unknown outcome", attempts, err)
	}
	if n := d.count(t, products); n != 1 {
		t.Errorf("%d products were stored; want the one that the server has committed", n)
	}
}
