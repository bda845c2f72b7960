package e2e

import (
	"testing"

	"example.com/orders/internal/test/invariants"
)

// The people in the tests.
const (
	Alice   = "alice"                  // a customer
	Mallory = "mallory"                // a customer who has no share in Alice's resources
	Shop    = "shop"                   // a seller
	Rival   = "rival"                  // a seller who has no share in the shop's resources
	Bank    = "bank"                   // the system
	Root    = invariants.Administrator // an administrator
)

// CustomerToken returns a token for Alice.
func (e *Env) CustomerToken(t testing.TB) string {
	t.Helper()
	return e.Token(t, Alice, "customer")
}

// SellerToken returns a token for the shop.
func (e *Env) SellerToken(t testing.TB) string {
	t.Helper()
	return e.Token(t, Shop, "seller")
}

// SystemToken returns a token for the bank.
func (e *Env) SystemToken(t testing.TB) string {
	t.Helper()
	return e.Token(t, Bank, "system")
}

// AdminToken returns a token for the administrator.
func (e *Env) AdminToken(t testing.TB) string {
	t.Helper()
	return e.Token(t, Root, "admin")
}
