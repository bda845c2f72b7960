package guard_test

import (
	"fmt"

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
