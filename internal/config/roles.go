package config

import (
	"fmt"
	"strings"

	"example.com/orders/internal/core"
)

// Roles is a comma-separated list of roles. The word none is the empty list.
type Roles []core.Role

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Roles) UnmarshalText(text []byte) error {
	*r = nil
	if string(text) == "none" {
		return nil
	}
	for name := range strings.SplitSeq(string(text), ",") {
		role, known := core.ParseRole(strings.TrimSpace(name))
		if !known {
			return fmt.Errorf("%q is no role", name)
		}
		*r = append(*r, role)
	}
	return nil
}

// RoleNames returns the role that each of the issuer's names grants, or nil if
// ORDERS_ROLES_MAP is malformed.
func (c Config) RoleNames() map[string]core.Role {
	granted := map[string]core.Role{}
	for _, entry := range c.RolesMap {
		ours, names, _ := strings.Cut(entry, "=")
		role, known := core.ParseRole(ours)
		for name := range strings.SplitSeq(names, "|") {
			if _, taken := granted[name]; taken || !known || name == "" || !isTrimmed(name) {
				return nil
			}
			granted[name] = role
		}
	}
	return granted
}
