// Package cards_test tests payments and refunds by card, and reconciliation, with
// processes that are killed.
package cards_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
