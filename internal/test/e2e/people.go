package e2e

import "testing"

// The people of the tests.
const (
	Alice   = "alice"   // a customer
	Mallory = "mallory" // another customer, who owns nothing of Alice's
	Shop    = "shop"    // a seller
	Rival   = "rival"   // another seller, who owns nothing of the shop's
	Bank    = "bank"    // the system
	Root    = "root"    // an administrator
)

// CustomerToken returns a token of Alice.
func (e *Env) CustomerToken(t testing.TB) string {
	t.Helper()
	return e.Token(t, Alice, "customer")
}

// SellerToken returns a token of the shop.
func (e *Env) SellerToken(t testing.TB) string {
	t.Helper()
	return e.Token(t, Shop, "seller")
}

// SystemToken returns a token of the bank.
func (e *Env) SystemToken(t testing.TB) string {
	t.Helper()
	return e.Token(t, Bank, "system")
}

// AdminToken returns a token of the administrator.
func (e *Env) AdminToken(t testing.TB) string {
	t.Helper()
	return e.Token(t, Root, "admin")
}
