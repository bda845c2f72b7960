package token

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/strictjson"
)

func TestClaimAt_FindsNamesWithDotsBeforePaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, claims, want string }{
		{"roles", `{"roles": 1}`, "1"},
		{"realm_access.roles", `{"realm_access": {"roles": 1}}`, "1"},
		{"https://shop.example/roles", `{"https://shop.example/roles": 1}`, "1"},
		{"http://schemas.microsoft.com/ws/2008/06/identity/claims/role", `{"http://schemas.microsoft.com/ws/2008/06/identity/claims/role": 1}`, "1"},
		{"resource_access.shop.api.roles", `{"resource_access": {"shop.api": {"roles": 1}}}`, "1"},
		{"resource_access.shop.api.roles", `{"resource_access": {"shop": {"api": {"roles": 1}}}}`, "1"},
		{"resource_access.shop.api.roles", `{"resource_access": {"shop": {"other": 2}, "shop.api": {"roles": 1}}}`, "1"},
		{"a.b", `{"a": {"b": 2}, "a.b": 1}`, "1"},
		{"a.b.c", `{"a": {"b.c": 2}, "a.b": {"c": 1}}`, "1"},
		{"a.b", `{"a": {"b": null}}`, "null"},
		{"a.b", `{"a": 1, "b": 1}`, ""},
		{"a.b", `{"a": ["b"]}`, ""},
		{"roles", `{}`, ""},
	} {
		var claims fields
		if err := json.Unmarshal([]byte(c.claims), &claims); err != nil {
			t.Fatal(err)
		}
		claim, found := claimAt(claims, c.path)
		if got := strings.Repeat(jsonOf(t, claim), map[bool]int{true: 1}[found]); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.path, c.claims, got, c.want)
		}
	}
}

func TestRolesIn_GrantsConfiguredNamesOnly(t *testing.T) {
	t.Parallel()
	v := &Verifier{cfg: Config{RolesClaim: "roles", Roles: map[string]core.Role{
		"buyer": core.Customer, "Order Admins": core.Admin, "system": core.System,
	}}}
	for claims, want := range map[string]struct {
		values int
		roles  []core.Role
	}{
		`{"roles": ["buyer", "Order Admins", "x", 1, null]}`:                      {5, []core.Role{core.Admin, core.Customer}},
		`{"roles": "openid  buyer system "}`:                                      {3, []core.Role{core.Customer, core.System}},
		`{"roles": {"buyer": {"2011": "shop.example"}, "system": true}}`:          {2, []core.Role{core.Customer, core.System}},
		`{"roles": {"buyer": false, "system": null, "Order Admins": ["system"]}}`: {3, nil},
		`{"roles": {"x": {"buyer": true}}}`:                                       {1, nil},
		`{"roles": ["customer", "admin", "Buyer", "system "]}`:                    {4, nil},
		`{"roles": [{"name": "buyer"}]}`:                                          {1, nil},
		`{"roles": "Order Admins"}`:                                               {2, nil}, // a string separates names by spaces
		`{"roles": "x\tsystem"}`:                                                  {1, nil}, // and by no other white space
		`{"roles": "x\nsystem\rsystem"}`:                                          {1, nil},
		`{"roles": "x\u00a0system\u0085system\u2003system\u3000buyer"}`:           {1, nil},
		`{"roles": ""}`: {0, nil},
		`{"roles": 1}`:  {0, nil},
	} {
		var parsed fields
		if err := json.Unmarshal([]byte(claims), &parsed); err != nil {
			t.Fatal(err)
		}
		got, values, found := v.rolesIn(parsed)
		slices.Sort(got)
		if !found || !slices.Equal(got, want.roles) || values != want.values {
			t.Errorf("%s: %v of %d values, found %t, want %v", claims, got, values, found, want)
		}
	}
	if got, _, found := v.rolesIn(fields{"groups": []any{"buyer"}}); found || got != nil {
		t.Errorf("without the claim: %v, found %t", got, found)
	}
}

// FuzzStrictToken checks that a token is strict exactly if header and claims are.
func FuzzStrictToken(f *testing.F) {
	for _, part := range []string{
		`{"alg":"ES256"}`, `{"alg":"none","alg":"ES256"}`, `{"alg":1,"\u0061lg":2}`, `{"a":{"b":[{"c":1,"c":1}]}}`,
		`{"sub":"\ud800"}`, `{"sub":"\ud83d\ude00"}`, `{"sub":"\\ud800"}`, "{\"sub\":\"\xff\"}", `{} {}`, ``, `7`, "\ufeff{}",
	} {
		f.Add([]byte(part), []byte(`{"sub":"sber-42"}`), ".c2ln")
		f.Add([]byte(`{"alg":"ES256"}`), []byte(part), "")
	}
	f.Add([]byte("{}"), []byte("{}"), "A.")
	f.Fuzz(func(t *testing.T, header, claims []byte, rest string) {
		token := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims) + rest
		if strings.ContainsAny(token, "\r\n") {
			t.Skip("no header contains line breaks")
		}
		parts := strings.Split(token, ".")
		want := len(parts) == 3 && isStrictPart(parts[0]) && isStrictPart(parts[1])
		if got := isStrictToken(token); got != want {
			t.Errorf("%s: strict = %t, want %t", token, got, want)
		}
	})
}

func isStrictPart(part string) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && base64.RawURLEncoding.EncodeToString(text) == part && strictjson.IsValid(text)
}
