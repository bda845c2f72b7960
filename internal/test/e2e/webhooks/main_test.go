// Package webhooks_test tests the events of the card provider: in any order, repeated, and
// not signed.
package webhooks_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
