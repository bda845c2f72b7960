// Package metrics_test tests that each metric of a running service is moved by what it
// measures, and that docs/metrics.md describes what the service exports.
package metrics_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
