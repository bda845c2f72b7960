package token

import (
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"example.com/orders/internal/core"
)

// rolesIn is the only converter from claims to roles (AUTH-7). It also returns how many
// values the configured claim has, and whether the token has it. Names that are not
// configured grant no role.
func (v *Verifier) rolesIn(claims jwt.MapClaims) (roles []core.Role, values int, found bool) {
	claim, found := claimAt(claims, v.cfg.RolesClaim)
	names, values := namesIn(claim)
	for _, name := range names {
		if role, ok := v.cfg.Roles[name]; ok {
			roles = append(roles, role)
		}
	}
	return roles, values, found
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

// namesIn returns the names in a list, in a string that separates them by spaces (RFC
// 6749, section 3.3), or among the keys of an object, and how many values there are. A
// key counts if the value is true or an object.
func namesIn(claim any) (names []string, values int) {
	switch claim := claim.(type) {
	case string:
		names = strings.FieldsFunc(claim, func(c rune) bool { return c == ' ' })
		return names, len(names)
	case []any:
		for _, v := range claim {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
		return names, len(claim)
	case map[string]any:
		for name, value := range claim {
			if _, isObject := value.(map[string]any); isObject || value == true {
				names = append(names, name)
			}
		}
		return names, len(claim)
	}
	return nil, 0
}

// otherPurposes are claims in tokens that grant no access by themselves, although the
// same issuer signs them with the same key: nonce and at_hash in ID tokens (OpenID
// Connect), events in logout and security event tokens (RFC 8417), and cnf in
// proof-of-possession tokens (RFC 7800), which need a proof that the service does not
// verify.
var otherPurposes = []string{"nonce", "at_hash", "events", "cnf"}

func isForOtherPurpose(claims jwt.MapClaims) bool {
	return slices.ContainsFunc(otherPurposes, func(name string) bool {
		_, has := claims[name]
		return has
	})
}

// acceptsType reports whether the typ in a header is accepted. It is a media type,
// which has no case and may omit "application/" (RFC 7515, section 4.1.9). A token that
// lacks typ is a JWT.
func (v *Verifier) acceptsType(header map[string]any) bool {
	const prefix = "application/"
	typ, isText := "JWT", true
	if claimed, has := header["typ"]; has {
		typ, isText = claimed.(string)
	}
	if len(typ) > len(prefix) && strings.EqualFold(typ[:len(prefix)], prefix) {
		typ = typ[len(prefix):]
	}
	return isText && slices.ContainsFunc(v.cfg.Types, func(name string) bool { return strings.EqualFold(name, typ) })
}

// boundsLifetime reports whether a token expires soon enough after it was issued. A token
// that does not say when counts as issued now.
func (v *Verifier) boundsLifetime(claims jwt.MapClaims) bool {
	expires, _ := claims["exp"].(float64)
	issued, says := claims["iat"].(float64)
	if !says {
		issued = float64(v.cfg.Now().Add(leeway).Unix())
	}
	return expires-issued <= v.cfg.MaxLifetime.Seconds()
}

// acceptsClient reports whether a token was issued to an accepted client, where clients
// replace the audience. A token that names two clients is refused, because either could
// be meant.
func (v *Verifier) acceptsClient(claims jwt.MapClaims) bool {
	if v.cfg.Audience != "" {
		return true
	}
	var names []string
	for _, claim := range []string{"client_id", "azp"} {
		if value, has := claims[claim]; has {
			name, _ := value.(string)
			names = append(names, name)
		}
	}
	names = slices.Compact(names)
	return len(names) == 1 && slices.Contains(v.cfg.Clients, names[0])
}
