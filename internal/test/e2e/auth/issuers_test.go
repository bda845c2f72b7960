package auth_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

// sample is a token as an issuer makes it.
type sample struct {
	name string
	// header and claims are JSON, without kid and times.
	header, claims string
	// raw is a token that the service cannot look into.
	raw string
	// settings are those of the page, or these.
	settings []string
	// want is the answer's detail, or empty if the token is accepted.
	want string
}

const (
	lacksRoles = "the token lacks the claim with its roles; the issuer must add it"
	noRole     = "the operation requires the role admin or customer or system; none of the 0 values in the token's claim app_metadata.roles grants a role"
	opaque     = "the token is opaque: the service accepts signed JWTs only"
	malformed  = "the token is not a signed JWT of at most 8 KiB in compact form, or its JSON is ambiguous"
	purpose    = "the token is not a plain access token: it has nonce, at_hash, events or cnf"
	algorithm  = "the token must be signed with RS256, PS256, ES256, EdDSA or Ed25519"
	audience   = "the token is for another audience; the service requires "
	anyOne     = "the token has an audience; the service requires one without, of a known client"
	issuer     = "the token is from another issuer"
	client     = "the token was issued to another client, or client_id and azp differ"
)

const (
	rs256   = `{"alg": "RS256", "typ": "JWT"}`
	rfc9068 = `{"alg": "RS256", "typ": "at+jwt"}`
)

// issuers has the samples for each row of docs/issuers.md. The first is the token that the
// row describes.
var issuers = map[string][]sample{
	"Keycloak": {
		{name: "roles of the realm", header: rs256, claims: `{"iss": "https://login.example/realms/shop", "aud": ["shop-api", "account"],
			"sub": "8f2d3c1e-6c1f-4b58-9a51-0f6a7a0f7b11", "typ": "Bearer", "azp": "web", "sid": "a", "acr": "1", "scope": "openid",
			"realm_access": {"roles": ["offline_access", "customer"]}, "resource_access": {"account": {"roles": ["view-profile"]}}}`},
		{name: "roles of a client", settings: []string{"ORDERS_JWT_AUDIENCE=shop.api", "ORDERS_ROLES_CLAIM=resource_access.shop.api.roles"},
			header: rfc9068, claims: `{"iss": "https://login.example/realms/shop", "aud": "shop.api", "sub": "8f2d3c1e",
			"resource_access": {"shop.api": {"roles": ["customer"]}}}`},
		{name: "no audience mapper", header: rs256, claims: `{"iss": "https://login.example/realms/shop", "aud": "account",
			"sub": "8f2d3c1e", "realm_access": {"roles": ["customer"]}}`, want: audience + "shop-api"},
		{name: "before version 25", header: rs256, claims: `{"iss": "https://login.example/realms/shop", "aud": "shop-api",
			"sub": "8f2d3c1e", "nonce": "n-0S6", "realm_access": {"roles": ["customer"]}}`, want: purpose},
	},
	"Auth0": {
		{name: "an Action adds the roles", header: rs256, claims: `{"iss": "https://shop.eu.auth0.com/", "sub": "auth0|5f7c8ec7c33c6c004bbafe82",
			"aud": ["https://api.shop.example", "https://shop.eu.auth0.com/userinfo"], "azp": "web", "scope": "openid", "permissions": [],
			"https://shop.example/roles": ["customer"]}`},
		{name: "no Action", header: rfc9068, claims: `{"iss": "https://shop.eu.auth0.com/", "sub": "web@clients", "client_id": "web",
			"aud": "https://api.shop.example"}`, want: lacksRoles},
		{name: "encrypted", raw: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..aXY.dGV4dA.dGFn", want: malformed},
		{name: "HS256", header: `{"alg": "HS256"}`, claims: `{"iss": "https://shop.eu.auth0.com/", "aud": "https://api.shop.example", "sub": "ann"}`, want: algorithm},
	},
	"Entra": {
		{name: "version 2", header: rs256, claims: `{"iss": "https://login.microsoftonline.com/9122040d/v2.0", "ver": "2.0", "tid": "9122040d",
			"aud": "6e74172b-be56-4843-9ff4-e66a39bb12e3", "azp": "6e74172b", "azpacr": "0", "oid": "690222be", "scp": "access_as_user",
			"sub": "HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ", "roles": ["Shop.Customer"]}`},
		{name: "version 1", header: rs256, claims: `{"iss": "https://sts.windows.net/9122040d/", "aud": "api://6e74172b", "sub": "HKZ",
			"ver": "1.0", "roles": ["Shop.Customer"]}`, want: issuer},
		{name: "for Microsoft Graph", header: rs256, claims: `{"iss": "https://login.microsoftonline.com/9122040d/v2.0", "sub": "HKZ",
			"aud": "00000003-0000-0000-c000-000000000000", "scp": "User.Read"}`, want: audience + "6e74172b-be56-4843-9ff4-e66a39bb12e3"},
		{name: "a user without a role", header: rs256, claims: `{"iss": "https://login.microsoftonline.com/9122040d/v2.0", "sub": "HKZ",
			"aud": "6e74172b-be56-4843-9ff4-e66a39bb12e3"}`, want: lacksRoles},
	},
	"Okta": {
		{name: "groups", header: `{"alg": "RS256"}`, claims: `{"iss": "https://shop.okta.com/oauth2/default", "ver": 1, "aud": "api://shop",
			"sub": "00u1a2b3c4", "uid": "00u1a2b3c4", "cid": "0oaweb", "scp": ["openid"], "groups": ["Everyone", "Shop Customers"]}`},
		{name: "the org authorization server", header: `{"alg": "RS256", "typ": "application/okta-internal-at+jwt"}`,
			claims: `{"iss": "https://shop.okta.com", "aud": "https://shop.okta.com", "sub": "00u1a2b3c4"}`,
			want:   "the token's header has a typ that is not accepted, or a critical extension"},
	},
	"Cognito": {
		{name: "groups", header: `{"alg": "RS256"}`, claims: `{"iss": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example",
			"sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "client_id": "57cbishk4j24pabc1234567890", "token_use": "access", "scope": "openid",
			"cognito:groups": ["customer"], "username": "ann", "version": 2}`},
		{name: "an ID token", header: `{"alg": "RS256"}`, claims: `{"iss": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example",
			"sub": "aaaaaaaa", "aud": "57cbishk4j24pabc1234567890", "token_use": "id", "cognito:groups": ["customer"]}`, want: anyOne},
		{name: "another client", header: `{"alg": "RS256"}`, claims: `{"iss": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example",
			"sub": "aaaaaaaa", "client_id": "other", "token_use": "access", "cognito:groups": ["customer"]}`, want: client},
		{name: "client credentials", header: `{"alg": "RS256"}`, claims: `{"iss": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example",
			"sub": "57cbishk4j24pabc1234567890", "client_id": "57cbishk4j24pabc1234567890", "token_use": "access", "scope": "shop/system"}`, want: lacksRoles},
	},
	"ZITADEL": {
		{name: "roles of the project", header: rs256, claims: `{"iss": "https://shop.zitadel.cloud", "sub": "345377791925026818",
			"aud": ["344374183645413381", "344374183645413380"], "client_id": "344374183645413381", "jti": "V2_1",
			"urn:zitadel:iam:org:project:roles": {"customer": {"344373908297744388": "shop.zitadel.cloud"}}}`},
		{name: "opaque", raw: "VjJfMzQ1Mzc3Nzkx", want: opaque},
	},
	"Firebase": {
		{name: "a custom claim", header: rs256, claims: `{"iss": "https://securetoken.google.com/shop-1234", "aud": "shop-1234", "auth_time": 1,
			"user_id": "Zm9vYmFy", "sub": "Zm9vYmFy", "roles": ["customer"], "firebase": {"identities": {}, "sign_in_provider": "password"}}`},
		{name: "a custom token", header: rs256, claims: `{"iss": "firebase-adminsdk@shop-1234.iam.gserviceaccount.com", "uid": "Zm9vYmFy",
			"aud": "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit", "sub": "x"}`, want: issuer},
	},
	"Supabase": {
		{name: "metadata of the app", header: `{"alg": "ES256", "typ": "JWT"}`, claims: `{"iss": "https://abcdefgh.supabase.co/auth/v1",
			"sub": "d0f1b2c3-0000-4000-8000-000000000000", "aud": "authenticated", "role": "authenticated", "aal": "aal1", "is_anonymous": false,
			"app_metadata": {"provider": "email", "roles": ["customer"]}, "user_metadata": {"roles": ["admin"]}}`},
		{name: "metadata of the user", header: `{"alg": "ES256"}`, claims: `{"iss": "https://abcdefgh.supabase.co/auth/v1", "sub": "d0f1b2c3",
			"aud": "authenticated", "app_metadata": {"roles": []}, "user_metadata": {"roles": ["customer"]}}`, want: noRole},
		{name: "the legacy secret", header: `{"alg": "HS256"}`, claims: `{"iss": "https://abcdefgh.supabase.co/auth/v1", "sub": "ann"}`, want: algorithm},
	},
	"oidc-provider": {
		{name: "scopes", header: rfc9068, claims: `{"iss": "https://login.example", "aud": "https://api.shop.example", "client_id": "web",
			"sub": "23121d3c-84df-44ac-b458-3d63a9a05497", "jti": "a", "scope": "shop:read shop:customer"}`},
		{name: "Ed25519", header: `{"alg": "Ed25519", "typ": "at+jwt"}`, claims: `{"iss": "https://login.example", "aud": "https://api.shop.example",
			"client_id": "web", "sub": "23121d3c", "scope": "shop:customer"}`},
		{name: "DPoP", header: rfc9068, claims: `{"iss": "https://login.example", "aud": "https://api.shop.example", "sub": "23121d3c",
			"scope": "shop:customer", "cnf": {"jkt": "0ZcOCORZNYy"}}`, want: purpose},
		{name: "opaque", raw: "VjJfMzQ1Mzc3Nzkx", want: opaque},
	},
}

// token returns a sample's token and its subject. Algorithms that the service does not accept
// are claimed, and not used.
func (s sample) token(t *testing.T, signers map[string]signer) (token, subject string) {
	t.Helper()
	if s.raw != "" {
		return s.raw, "nobody"
	}
	f := forge{claims: map[string]any{"iat": fromNow(0), "exp": fromNow(time.Hour)}}
	for _, part := range []struct {
		text string
		into *map[string]any
	}{{s.header, &f.header}, {s.claims, &f.claims}} {
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			t.Fatal(err)
		}
	}
	alg, _ := f.header["alg"].(string)
	by, known := signers[alg]
	if !known {
		by = signers["EdDSA"]
	}
	subject, _ = f.claims["sub"].(string)
	return f.by(by).withHeader("alg", alg).token(t), subject
}

// issuersPage returns the settings of each row in docs/issuers.md.
func issuersPage(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "issuers.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	setting := regexp.MustCompile("`(ORDERS_[A-Z_]+=[^`]+)`")
	for _, row := range regexp.MustCompile(`(?m)^\| \[([^\]]+)\]\([^)]*\) \|([^|]*)\|`).FindAllStringSubmatch(string(page), -1) {
		for _, match := range setting.FindAllStringSubmatch(row[2], -1) {
			rows[row[1]] = append(rows[row[1]], match[1])
		}
	}
	return rows
}

// The page describes the settings with which these tokens work, and the tokens that never do.
func TestIssuers_WorkAsThePageSays(t *testing.T) {
	t.Parallel()
	rows := issuersPage(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(issuers)), slices.Sorted(maps.Keys(rows))); diff != "" {
		t.Fatalf("issuers (-samples +page):\n%s", diff)
	}
	env, signers := e2e.NewEnv(t), newSigners(t)
	newKeyServer(t, env, keySet(t, signers["RS256"].jwk(t), signers["ES256"].jwk(t), signers["EdDSA"].jwk(t)))
	for name, samples := range issuers {
		for _, c := range samples {
			t.Run(name+": "+c.name, func(t *testing.T) {
				t.Parallel()
				settings := c.settings
				if settings == nil {
					settings = rows[name]
				}
				var claims struct{ Iss string }
				if err := json.Unmarshal([]byte(samples[0].claims), &claims); err != nil {
					t.Fatal(err)
				}
				s := env.StartReplica(t, append([]string{"ORDERS_JWT_AUDIENCE=", "ORDERS_JWT_ISSUER=" + claims.Iss}, settings...)...)
				token, subject := c.token(t, signers)
				r := s.Send(t, e2e.Get(token, "/customers/"+url.PathEscape(subject)+"/balance"))
				var problem struct{ Detail string }
				if err := json.Unmarshal(r.Body, &problem); err != nil || problem.Detail != c.want {
					t.Errorf("%d %s, want %q", r.Status, r.Body, c.want)
				}
			})
		}
	}
}
