package e2e

import (
	"maps"
	"slices"
	"testing"
)

// Route is one row in the route table: how to prepare a request, why a guarded command
// is refused, and who may send it.
type Route struct {
	// Operation is the contract operation, where it is not the row's key. Such a row is
	// a variant; access is in the operation's row.
	Operation string
	Prepare   func(t testing.TB, s *Service) Command
	Refusals  map[string]func(t testing.TB, s *Service) Refusal
	Access    Access
}

// Routes is the table with all routes. Those with refusals, and variants, are guarded.
var Routes = joined(orderRoutes, paymentRoutes, balanceRoutes, productRoutes, otherRoutes)

func joined(parts ...map[string]Route) map[string]Route {
	table := map[string]Route{}
	for _, part := range parts {
		maps.Copy(table, part)
	}
	return table
}

// GuardedRoutes returns the rows of requests that take an Idempotency-Key.
func GuardedRoutes() []string {
	var guarded []string
	for name, route := range Routes {
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

// GuardedRefusals returns all refusals in the table.
func GuardedRefusals() []RefusalName {
	var all []RefusalName
	for _, route := range GuardedRoutes() {
		for _, reason := range slices.Sorted(maps.Keys(Routes[route].Refusals)) {
			all = append(all, RefusalName{route, reason})
		}
	}
	return all
}
