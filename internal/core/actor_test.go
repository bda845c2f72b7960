package core

import (
	"slices"
	"testing"
)

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"customer", "seller", "admin", "system"} {
		if role, ok := ParseRole(name); !ok || string(role) != name {
			t.Errorf("%s is no role", name)
		}
	}
	for _, name := range []string{"", "Admin", "ADMIN", "root", " admin", "user", "admins"} {
		if _, ok := ParseRole(name); ok {
			t.Errorf("%q is a role", name)
		}
	}
}

// No list of names can show that every other one is refused, so the set itself is checked
// (AUTH-8).
func TestRoles_AreFour(t *testing.T) {
	t.Parallel()
	if want := []Role{"customer", "seller", "admin", "system"}; !slices.Equal(roles, want) {
		t.Errorf("the roles are %q, want %q: whoever adds one must revise every policy", roles, want)
	}
}
