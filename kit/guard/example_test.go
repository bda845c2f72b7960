package guard_test

import (
	"context"
	"fmt"
	"time"

	"example.com/orders/kit/guard"
)

func ExampleParseKey() {
	for _, header := range [][]string{{"first-press"}, {`"first-press"`}, {"a", "b"}, nil} {
		fmt.Println(guard.ParseKey(header))
	}
	// Output:
	// first-press <nil>
	// first-press <nil>
	//  the idempotency key is invalid: multiple Idempotency-Key headers
	//  an idempotency key is required
}

// With tenants, the tenant is a part of the scope.
func ExampleNewScope() {
	fmt.Println(guard.NewScope("https://issuer.example", "alice"))
	fmt.Println(guard.NewScope("tenant 7", "alice"))
	// Output:
	// https://issuer.example alice
	// tenant%207 alice
}

// Each transport is guarded alike. The key of a message is its ID, and the sender owns it.
func ExampleGuard_Do() {
	g := guard.Guard{Store: memory{}, Timeout: 10 * time.Second} // a service has pgxstore.New(pool)
	message := guard.Request{
		ID:        guard.ID{Scope: guard.NewScope("warehouse"), Key: "message-1"},
		Operation: "restock", Content: guard.Content{Body: []byte(`{"sku":"tea"}`)},
	}
	for range 2 {
		rec, replayed, err := g.Do(context.Background(), message, func(ctx context.Context) (guard.Result, error) {
			fmt.Println("restock, by", guard.KeyOf(ctx)) // in the transaction of ctx
			return guard.Result{Response: guard.Response{Status: 204}, TTL: 72 * time.Hour}, nil
		})
		fmt.Println(rec.Status, replayed, err)
	}
	// Output:
	// restock, by message-1
	// 204 false <nil>
	// 204 true <nil>
}

// memory is a store for one goroutine, so that the example needs no database.
type memory map[guard.ID]guard.Record

func (m memory) Execute(ctx context.Context, c guard.Claim, run guard.Command) (guard.Record, bool, error) {
	if rec, found := m[c.ID]; found {
		return rec, true, nil
	}
	result, err := run(ctx)
	if err != nil {
		return guard.Record{}, false, err
	}
	m[c.ID] = result.Record(c, time.Now())
	return m[c.ID], false, nil
}
