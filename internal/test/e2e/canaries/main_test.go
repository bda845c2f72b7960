// Package canaries_test plants secrets and personal data in every part of every request,
// lets everything fail that can fail, and searches all that the service writes: its log,
// traces, metrics, profiles, events, problem documents, and every column of the database (AUTH-16).
package canaries_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
