// Package guard_test tests the guard as a client sees it: keys, replays, refusals, expiry,
// and the second line of defence behind it.
package guard_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
