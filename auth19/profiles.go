package main

import (
	"maps"
	"slices"

	"example.com/orders/internal/idempotency/routetest/probe"
)

// profiles by name.
var profiles = map[string]probe.Profile{"auth-19": probe.AUTH19}

func profileNames() []string { return slices.Sorted(maps.Keys(profiles)) }
