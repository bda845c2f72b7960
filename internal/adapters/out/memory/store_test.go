package memory_test

import (
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/memory"
	"example.com/orders/internal/core"
	"example.com/orders/internal/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Stores {
		store := memory.New(time.Now)
		return storetest.Stores{
			Orders: store.Orders(), Payments: store.Payments(), Customers: store.Customers(),
			Audit: store, Keys: store.Keys(), Replica: store.Keys(),
			Events: func(testing.TB) []core.Event { return store.Events() },
		}
	})
}
