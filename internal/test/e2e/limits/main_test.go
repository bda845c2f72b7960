// Package limits_test tests what one principal may do, and that the others do not notice.
package limits_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
