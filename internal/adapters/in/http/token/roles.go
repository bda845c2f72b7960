package token

import (
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"example.com/orders/internal/core"
)

// rolesIn is the only converter from claims to roles (AUTH-7). It also reports whether
// the token has the configured claim. Names that are not configured grant nothing.
func (v *Verifier) rolesIn(claims jwt.MapClaims) (roles []core.Role, found bool) {
	claim, found := claimAt(claims, v.cfg.RolesClaim)
	for _, name := range namesIn(claim) {
		if role, ok := v.cfg.Roles[name]; ok {
			roles = append(roles, role)
		}
	}
	return roles, found
}

// claimAt returns the claim with a name, or at a path such as "realm_access.roles". A
// name may contain dots, as URLs do, so that the longest one counts at every step.
func claimAt(object map[string]any, path string) (claim any, found bool) {
	if claim, found := object[path]; found {
		return claim, true
	}
	for end := len(path) - 1; end > 0; end-- {
		inner, isObject := object[path[:end]].(map[string]any)
		if path[end] != '.' || !isObject {
			continue
		}
		if claim, found := claimAt(inner, path[end+1:]); found {
			return claim, true
		}
	}
	return nil, false
}

// namesIn returns the names in a list, in a space-separated string, or among an object's
// keys. A key counts if its value is true or an object.
func namesIn(claim any) (names []string) {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		for _, v := range claim {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
	case map[string]any:
		for name, value := range claim {
			if _, isObject := value.(map[string]any); isObject || value == true {
				names = append(names, name)
			}
		}
	}
	return names
}
