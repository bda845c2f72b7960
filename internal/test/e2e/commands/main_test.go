// Package commands_test tests what the commands do: orders, payments, refunds, statuses,
// lists and error codes.
package commands_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
