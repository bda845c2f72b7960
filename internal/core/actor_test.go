package core_test

import (
	"testing"

	"example.com/orders/internal/core"
)

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"customer", "seller", "admin", "system"} {
		if role, ok := core.ParseRole(name); !ok || string(role) != name {
			t.Errorf("%s is no role", name)
		}
	}
	for _, name := range []string{"", "Admin", "ADMIN", "root", " admin", "user", "admins"} {
		if _, ok := core.ParseRole(name); ok {
			t.Errorf("%q is a role", name)
		}
	}
}
