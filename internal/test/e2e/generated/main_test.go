// Package generated_test sends requests that are drawn from api/openapi.yaml to the
// service: valid ones, and for every rule of the contract one that breaks it.
package generated_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
