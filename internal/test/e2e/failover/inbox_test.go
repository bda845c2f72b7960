package failover_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
)

// A message that is acknowledged is never sent again.
func TestRestock_AcknowledgesNoMessageThatAFailoverLoses(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	env.StartReplica(t).PutProduct(t, "tea", 10)
	orders := e2e.OrderService(env.OpenStore(t))
	restock := order.Restock{SKU: "tea", Quantity: 5, Source: "warehouse", MessageID: "message-1"}

	servers.StopStandby()
	processed := make(chan error, 1)
	go func() { processed <- orders.Restock(t.Context(), restock) }()
	env.Exec(t, "SELECT pg_terminate_backend($1)", servers.AwaitCommit(t))
	if err := e2e.Receive(t, processed, "the message is processed"); !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Errorf("the first delivery: %v, want that the outcome is unknown", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := orders.Restock(ctx, restock); !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Errorf("the second delivery: %v, want that the outcome is unknown", err)
	}

	servers.Promote(t)
	e2e.Eventually(t, "the message is processed", func() bool {
		return errors.Is(orders.Restock(t.Context(), restock), order.ErrRestockedBefore)
	})
	env.Connect(t)
	if n := env.Count(t, "SELECT on_hand FROM product WHERE sku = 'tea'"); n != 15 {
		t.Errorf("%d on hand after the failover, want 15", n)
	}
}
