// Package routes is the table with all routes of the API: how a test prepares a request to
// each, why a guarded command is refused, and who may send it.
package routes

import (
	"maps"
	"slices"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// Route is one row in the route table: how to prepare a request, why a guarded command
// is refused, and who may send it.
type Route struct {
	// Operation is the contract operation, where it is not the row's key. Such a row is
	// a variant; access is in the operation's row.
	Operation string
	Prepare   func(t testing.TB, s *e2e.Service) Command
	Refusals  refusals
	Access    Access
}

// refusals are commands that the use case refuses, by reason.
type refusals = map[string]func(t testing.TB, s *e2e.Service) Refusal

// All is the table with all routes. Those with refusals, and variants, are guarded.
var All = joined(orderRoutes, paymentRoutes, balanceRoutes, productRoutes, webhookRoutes, otherRoutes)

func joined(parts ...map[string]Route) map[string]Route {
	table := map[string]Route{}
	for _, part := range parts {
		maps.Copy(table, part)
	}
	return table
}

// Guarded returns the rows of requests that take an Idempotency-Key.
func Guarded() []string {
	var guarded []string
	for name, route := range All {
		if len(route.Refusals) > 0 || route.Operation != "" {
			guarded = append(guarded, name)
		}
	}
	slices.Sort(guarded)
	return guarded
}

// RefusalName names a refusal in the table.
type RefusalName struct{ Route, Reason string }

// String returns the name for a subtest.
func (r RefusalName) String() string { return r.Route + ", " + r.Reason }

// Refusals returns all refusals in the table.
func Refusals() []RefusalName {
	var all []RefusalName
	for _, route := range Guarded() {
		for _, reason := range slices.Sorted(maps.Keys(All[route].Refusals)) {
			all = append(all, RefusalName{route, reason})
		}
	}
	return all
}
