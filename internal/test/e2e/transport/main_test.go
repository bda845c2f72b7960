// Package transport_test tests how the service is reached: TLS, client certificates and
// requests from pages of other origins.
package transport_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
