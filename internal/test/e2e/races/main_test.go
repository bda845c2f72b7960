// Package races_test tests requests that meet each other or their failure: duplicates,
// clients that hang up and connections that break.
package races_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
