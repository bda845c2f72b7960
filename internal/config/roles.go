package config

import (
	"fmt"
	"strings"

	"example.com/orders/internal/core"
)

// Roles is a list of roles, separated by commas. The word none is the empty list.
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
