package httpapi

import (
	"testing"
	"time"
)

// The libraries take an empty issuer or audience as "do not check".
func TestNewVerifier_RefusesAnIncompleteConfiguration(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*TokenConfig){
		"issuer":      func(c *TokenConfig) { c.Issuer = "" },
		"audience":    func(c *TokenConfig) { c.Audience = "" },
		"JWKS URL":    func(c *TokenConfig) { c.JWKSURL = "" },
		"roles claim": func(c *TokenConfig) { c.RolesClaim = "" },
		"clock":       func(c *TokenConfig) { c.Now = nil },
	} {
		cfg := TokenConfig{
			Issuer: "https://issuer.example", Audience: "orders", JWKSURL: "http://127.0.0.1:1/keys", RolesClaim: "roles",
			Now: time.Now, OnRefreshError: func(error) {},
		}
		remove(&cfg)
		if v, err := NewVerifier(t.Context(), cfg); err == nil {
			v.Close()
			t.Errorf("without the %s: no error", name)
		}
	}
}
