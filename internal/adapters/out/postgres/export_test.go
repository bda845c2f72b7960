package postgres

import (
	"context"
	"testing"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// ExecuteIn executes a statement on the connection of the transaction that a command runs in,
// which does not learn of it.
func ExecuteIn(ctx context.Context, sql string) error {
	_, err := ctx.Value(sessionKey{}).(*session).batch.tx.Conn().Exec(ctx, sql)
	return err
}

// Without a lock, a refund can be younger than the payments that are read before it.
func TestPaymentsOf_LeavesOutARefundOfAnother(t *testing.T) {
	t.Parallel()
	refunds := []dbsqlc.Refund{{ID: 1, PaymentID: 7, Currency: "RUB"}, {ID: 2, PaymentID: 8, Currency: "RUB"}}
	found, err := paymentsOf([]dbsqlc.Payment{{ID: 7, Currency: "RUB"}}, refunds, nil)
	if err != nil || len(found) != 1 || len(found[0].Refunds) != 1 || found[0].Refunds[0].ID != 1 {
		t.Errorf("%+v, %v; want the payment with its refund", found, err)
	}
}
