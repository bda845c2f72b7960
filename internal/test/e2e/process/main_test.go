// Package process_test tests the programs as processes: the command line, signals, kills,
// jobs, the outbox and round trips.
package process_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
