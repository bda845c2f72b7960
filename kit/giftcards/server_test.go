package main

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// databaseURL returns the URL of a server on which each test creates its database.
func databaseURL(t *testing.T) string {
	t.Helper()
	return pgtest.New(t)
}
