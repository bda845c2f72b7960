package memory_test

import (
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/test/memory"
	storetest "example.com/orders/internal/test/store"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Stores {
		store := memory.New(time.Now)
		return storetest.Stores{
			Orders: store.Orders(), Payments: store.Payments(), Customers: store.Customers(),
			Audit: store.Audit(), Keys: store.Keys(), Replica: store.Keys(),
			Events: func(testing.TB) []core.Event { return store.Events() },
		}
	})
}
