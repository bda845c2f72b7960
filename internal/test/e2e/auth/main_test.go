// Package auth_test tests who may do what, and what becomes of bad input: tokens, roles,
// owners, invalid requests and the log.
package auth_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
