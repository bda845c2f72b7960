// Package client_test tests the Go client against the running service, through a proxy that
// loses requests and responses.
package client_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
