package memory_test

import (
	"testing"
	"time"

	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/test/memory"
	storetest "example.com/orders/internal/test/store"
	endpointstest "example.com/orders/internal/test/store/endpoints"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Stores {
		store := memory.New(time.Now)
		return storetest.Stores{
			Orders: store.Orders(), Payments: store.Payments(), Customers: store.Customers(),
			Audit: store.Audit(), Keys: store.Keys(), Replica: store.Keys(),
			Events: func(testing.TB) []string {
				found := []string{}
				for _, e := range store.Events() {
					found = append(found, string(e.Type)+" "+e.Aggregate)
				}
				return found
			},
		}
	})
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	endpointstest.Run(t, func(*testing.T) webhook.Store { return memory.New(time.Now).Webhooks() })
}
