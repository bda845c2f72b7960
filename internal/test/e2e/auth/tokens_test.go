package auth_test

import (
	"crypto"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
)

// forge signs any token, also one that no honest issuer would sign.
type forge struct {
	header, claims map[string]any
	method         jwt.SigningMethod
	key            any
}

// honest returns a forge that signs valid tokens of Alice.
func honest(env *e2e.Env) forge {
	id, key := env.Issuer.Key()
	return forge{
		header: map[string]any{"alg": "ES256", "typ": "JWT", "kid": id},
		claims: env.Issuer.Claims(e2e.Alice, []string{"customer"}, time.Hour),
		method: jwt.SigningMethodES256, key: key,
	}
}

// with returns the forge with a claim.
func (f forge) with(name string, value any) forge {
	f.claims = maps.Clone(f.claims)
	f.claims[name] = value
	return f
}

// without returns the forge without a claim.
func (f forge) without(name string) forge {
	f.claims = maps.Clone(f.claims)
	delete(f.claims, name)
	return f
}

// withHeader returns the forge with a member of the header; nil removes it.
func (f forge) withHeader(name string, value any) forge {
	f.header = maps.Clone(f.header)
	f.header[name] = value
	if value == nil {
		delete(f.header, name)
	}
	return f
}

// signedBy returns the forge with another method and key.
func (f forge) signedBy(method jwt.SigningMethod, key any) forge {
	f = f.withHeader("alg", method.Alg())
	f.method, f.key = method, key
	return f
}

// public returns the key that verifies the tokens.
func (f forge) public() crypto.PublicKey { return f.key.(crypto.Signer).Public() }

// token returns the signed token.
func (f forge) token(t testing.TB) string {
	t.Helper()
	return f.sign(t, text(t, f.header), text(t, f.claims))
}

// sign signs a header and claims that are given as text.
func (f forge) sign(t testing.TB, header, claims string) string {
	t.Helper()
	signed := encode(header) + "." + encode(claims)
	signature, err := f.method.Sign(signed, f.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + encode(string(signature))
}

func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func decode(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// balanceCall is the call that reads the balance of Alice.
func balanceCall(token string) e2e.Call {
	return e2e.Call{Method: "GET", Path: "/customers/alice/balance", Token: token}
}

// fromNow returns a time as a claim has it.
func fromNow(d time.Duration) int64 { return time.Now().Add(d).Unix() }

// Without these, a service that refuses everything would pass the tests of bad tokens.
func TestTokens_ValidOnesAreAccepted(t *testing.T) {
	t.Parallel()
	s, signers := startWithSigners(t)
	good := honest(s.Env).by(signers["ES256"])
	calls := map[string]e2e.Call{
		"scheme in another case": balanceCall("").WithHeader("Authorization", "bEARER "+good.token(t)),
		"scheme in lower case":   balanceCall("").WithHeader("Authorization", "bearer "+good.token(t)),
	}
	for name, signer := range signers {
		calls["signed with "+name] = balanceCall(good.by(signer).token(t))
	}
	for _, typ := range []string{"JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", "Application/AT+JWT", "application/JWT"} {
		calls["typ "+typ] = balanceCall(good.withHeader("typ", typ).token(t))
	}
	for name, f := range map[string]forge{
		"as it is":                   good,
		"expired within the leeway":  good.with("exp", fromNow(-15*time.Second)),
		"not before, within it":      good.with("nbf", fromNow(15*time.Second)),
		"issued later, within it":    good.with("iat", fromNow(15*time.Second)),
		"without nbf":                good.without("nbf"),
		"without iat":                good.without("iat"),
		"for a whole day":            good.with("iat", fromNow(0)).with("exp", fromNow(0)+24*60*60),
		"for a day, without iat":     good.without("iat").with("exp", fromNow(24*time.Hour)),
		"for several audiences":      good.with("aud", []string{"other", devissuer.Audience}),
		"times with a fraction":      good.with("exp", float64(fromNow(time.Hour))+0.5),
		"without typ":                good.withHeader("typ", nil),
		"a role beside unknown ones": good.with("roles", []string{"root", "customer", "Admin"}),
		"roles as one string":        good.with("roles", "auditor customer"),
		"claims of other letters":    good.with("Sub", "bob").with("SUB", "mallory").with("Iss", "https://evil.example"),
		"claims that nobody knows":   good.with("sid", "1").with("acr", "1").with("azp", "web"),
		"just below the size limit":  good.with("x", strings.Repeat("x", 5000)),
		"a key of its own beside":    good.withHeader("jwk", publicJWK(t, good.public(), "own", "ES256", "sig")),
	} {
		calls[name] = balanceCall(f.token(t))
	}
	calls["the other signature of ECDSA"] = balanceCall(mirrored(t, good.token(t)))
	for name, c := range calls {
		t.Run(name, func(t *testing.T) { // at once, because some of them expire
			if r := s.Send(t, c); r.Status != http.StatusOK {
				t.Errorf("status %d: %s", r.Status, r.Body)
			}
		})
	}
}

// mirrored returns the token with the second signature that every ECDSA signature implies,
// (r, n-s). It proves as much as the first one: only the holder of the key could make
// either, and nothing here depends on the bytes of a token.
func mirrored(t testing.TB, token string) string {
	t.Helper()
	signed, encoded := cutSignature(token)
	signature := decode(t, encoded)
	s := new(big.Int).SetBytes(signature[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(signature[32:])
	return signed + encode(string(signature))
}

func TestTokens_HaveAConfiguredType(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, "ORDERS_JWT_TYPES=at+jwt")
	good := honest(s.Env)
	for _, typ := range []string{"at+jwt", "application/at+jwt"} {
		if r := s.Send(t, balanceCall(good.withHeader("typ", typ).token(t))); r.Status != http.StatusOK {
			t.Errorf("typ %s: status %d: %s", typ, r.Status, r.Body)
		}
	}
	checkUnauthenticated(t, s, balanceCall(good.withHeader("typ", "JWT").token(t)))
	checkUnauthenticated(t, s, balanceCall(good.withHeader("typ", nil).token(t))) // a token without typ is a JWT
}

func TestTokens_HaveAConfiguredLifetime(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, "ORDERS_JWT_MAX_LIFETIME=10m")
	good := honest(s.Env)
	issued := good.with("iat", fromNow(-5*time.Minute))
	for name, f := range map[string]forge{
		"ten minutes":            issued.with("exp", fromNow(-5*time.Minute)+600),
		"five, without iat":      good.without("iat").with("exp", fromNow(5*time.Minute)),
		"nearly all of it ended": good.with("iat", fromNow(-9*time.Minute)).with("exp", fromNow(time.Second)),
	} {
		if r := s.Send(t, balanceCall(f.token(t))); r.Status != http.StatusOK {
			t.Errorf("%s: status %d: %s", name, r.Status, r.Body)
		}
	}
	checkUnauthenticated(t, s, balanceCall(issued.with("exp", fromNow(-5*time.Minute)+601).token(t)))
	checkUnauthenticated(t, s, balanceCall(good.without("iat").with("exp", fromNow(12*time.Minute)).token(t)))
}

// checkUnauthenticated sends a call that must be refused exactly as one without a token
// is: nobody can learn from the response what is wrong with a token.
func checkUnauthenticated(t *testing.T, s *e2e.Service, c e2e.Call) {
	t.Helper()
	path, _, _ := strings.Cut(c.Path, "?")
	withoutToken, r := s.Send(t, e2e.Call{Method: c.Method, Path: path}), s.Send(t, c)
	checkProblem(t, badRequest{"", c, http.StatusUnauthorized, "unauthenticated", nil, notStored}, r)
	if r.Status != withoutToken.Status || withoutRequestID(r) != withoutRequestID(withoutToken) {
		t.Errorf("%d %s\nwithout a token: %d %s", r.Status, r.Body, withoutToken.Status, withoutToken.Body)
	}
	if got := r.Header.Values("WWW-Authenticate"); len(got) != 1 || got[0] != "Bearer" {
		t.Errorf("WWW-Authenticate is %q, want Bearer", got)
	}
}

// withoutRequestID returns the body of a problem without what is different in each.
func withoutRequestID(r e2e.Reply) string {
	return strings.Replace(string(r.Body), r.Header.Get("X-Request-Id"), "", 1)
}

// otherRoleClaims has the role in every claim where an issuer of some kind has roles, and
// not in those that the service can be configured to read.
const otherRoleClaims = `{"role": "customer", "groups": ["customer"], "permissions": ["customer"], "authorities": ["customer"],
	"entitlements": ["customer"], "scp": ["customer"], "scopes": ["customer"], "role_names": ["customer"], "type": "customer",
	"cognito:groups": ["customer"], "https://orders.example/roles": ["customer"], "Roles": ["customer"],
	"realm_access": {"groups": ["customer"]}, "resource_access": {"orders": {"roles": ["customer"]}},
	"app_metadata": {"roles": ["customer"]}, "user_metadata": {"roles": ["customer"]}, "authorization": {"roles": ["customer"]}}`

func TestRoles_ComeFromConfiguredClaimOnly(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	const ok, forbidden = http.StatusOK, http.StatusForbidden
	for _, c := range []struct {
		claim string
		cases map[string]int // status by claims
	}{
		{"roles", map[string]int{
			`{"roles": ["customer"]}`:                   ok,
			`{"roles": "customer"}`:                     ok,
			`{"roles": []}`:                             forbidden,
			`{"roles": null}`:                           forbidden,
			`{"roles": 1}`:                              forbidden,
			`{"roles": {"customer": true}}`:             forbidden,
			`{"roles": [["customer"]]}`:                 forbidden,
			`{"roles": ["customers", "CUSTOMER", ""]}`:  forbidden,
			`{"roles": ["customer,admin"]}`:             forbidden,
			`{"scope": "customer"}`:                     forbidden,
			`{"realm_access": {"roles": ["customer"]}}`: forbidden,
			otherRoleClaims:                             forbidden,
			`{"roles": ["root", "superuser", "owner", "support", "Admin", "ADMIN", "admin ", "*"]}`:                                                                     forbidden,
			`{"roles": [], "realm_access": {"roles": ["admin"]}, "scope": "admin", "role": "admin", "groups": ["admin"], "Roles": ["admin"], "permissions": ["admin"]}`: forbidden,
		}},
		{"realm_access.roles", map[string]int{
			`{"realm_access": {"roles": ["offline_access", "customer"]}}`: ok,
			`{"realm_access": {"roles": []}}`:                             forbidden,
			`{"realm_access": ["customer"]}`:                              forbidden,
			`{"realm_access.roles": ["customer"]}`:                        forbidden,
			`{"roles": ["customer"]}`:                                     forbidden,
			otherRoleClaims:                                               forbidden,
			`{"roles": ["admin"], "realm_access": {"roles": ["root"]}}`:   forbidden,
		}},
		{"scope", map[string]int{
			`{"scope": "openid customer email"}`: ok,
			`{"scope": "openid email"}`:          forbidden,
			`{"scope": ""}`:                      forbidden,
			`{"roles": ["customer"]}`:            forbidden,
			otherRoleClaims:                      forbidden,
		}},
	} {
		s := env.StartReplica(t, "ORDERS_ROLES_CLAIM="+c.claim)
		for claims, want := range c.cases {
			t.Run(c.claim+" of "+claims, func(t *testing.T) {
				t.Parallel()
				f := honest(env).without("roles")
				if err := json.Unmarshal([]byte(claims), &f.claims); err != nil {
					t.Fatal(err)
				}
				r := s.Send(t, balanceCall(f.token(t)))
				if r.Status != want || (want == forbidden && r.Code() != "forbidden_role") {
					t.Errorf("status %d, want %d: %s", r.Status, want, r.Body)
				}
			})
		}
	}
}
