package auth_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
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

// balanceCall is the call that reads the balance of Alice.
func balanceCall(token string) e2e.Call {
	return e2e.Call{Method: "GET", Path: "/customers/alice/balance", Token: token}
}

// fromNow returns a time as a claim has it.
func fromNow(d time.Duration) int64 { return time.Now().Add(d).Unix() }

func TestTokens_ValidOnesAreAccepted(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	good := honest(s.Env)
	for name, token := range map[string]string{
		"as it is":                   good.token(t),
		"expired within the leeway":  good.with("exp", fromNow(-15*time.Second)).token(t),
		"not before, within it":      good.with("nbf", fromNow(15*time.Second)).token(t),
		"issued later, within it":    good.with("iat", fromNow(15*time.Second)).token(t),
		"without nbf":                good.without("nbf").token(t),
		"without iat":                good.without("iat").token(t),
		"for several audiences":      good.with("aud", []string{"other", devissuer.Audience}).token(t),
		"times with a fraction":      good.with("exp", float64(fromNow(time.Hour))+0.5).token(t),
		"without typ":                good.withHeader("typ", nil).token(t),
		"a role beside unknown ones": good.with("roles", []string{"root", "customer", "Admin"}).token(t),
		"roles as one string":        good.with("roles", "auditor customer").token(t),
		"just below the size limit":  good.with("x", strings.Repeat("x", 5000)).token(t),
	} {
		t.Run(name, func(t *testing.T) { // at once, because some of them expire
			if r := s.Send(t, balanceCall(token)); r.Status != http.StatusOK {
				t.Errorf("status %d: %s", r.Status, r.Body)
			}
		})
	}
	t.Run("scheme in another case", func(t *testing.T) {
		t.Parallel()
		c := balanceCall("").WithHeader("Authorization", "bEARER "+good.token(t))
		if r := s.Send(t, c); r.Status != http.StatusOK {
			t.Errorf("status %d: %s", r.Status, r.Body)
		}
	})
}

func TestTokens_MalformedAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	good := honest(s.Env)
	signed := good.token(t)
	parts := strings.Split(signed, ".")
	header, claims := text(t, good.header), text(t, good.claims)
	adminClaims := encode(text(t, good.with("roles", []string{"admin"}).claims))
	checkTokensRefused(t, s, map[string]string{
		"no token at all":           "x",
		"dots":                      "..",
		"two parts":                 parts[0] + "." + parts[1],
		"four parts":                signed + ".x",
		"five parts":                "a.b.c.d.e",
		"claims of others":          parts[0] + "." + adminClaims + "." + parts[2],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"half a signature":          signed[:len(signed)-40],
		"padded":                    parts[0] + "=." + parts[1] + "." + parts[2] + "==",
		"a NUL in it":               parts[0] + "." + encode("\x00") + "." + parts[2],
		"claims that are no JSON":   good.sign(t, header, "alice"),
		"claims that are a list":    good.sign(t, header, "["+claims+"]"),
		"claims that are null":      good.sign(t, header, "null"),
		"claims with a tail":        good.sign(t, header, claims+"{}"),
		"claims in invalid UTF-8":   good.sign(t, header, strings.Replace(claims, `"alice"`, "\"alice\xff\"", 1)),
		"a claim twice":             good.sign(t, header, strings.Replace(claims, `"sub"`, `"sub":"bob","sub"`, 1)),
		"a claim twice, by escapes": good.sign(t, header, strings.Replace(claims, `"sub"`, `"s\u0075b":"bob","sub"`, 1)),
		"roles twice":               good.sign(t, header, strings.Replace(claims, `"roles"`, `"roles":["admin"],"roles"`, 1)),
		"a member of header twice":  good.sign(t, strings.Replace(header, `"alg"`, `"alg":"none","alg"`, 1), claims),
		"9 KB":                      good.with("x", strings.Repeat("x", 9<<10)).token(t),
	})
}

func TestTokens_WithForgedSignatureAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	good := honest(s.Env)
	id, key := s.Issuer.Key()
	stranger := signingKey(t)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	published := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	checkTokensRefused(t, s, map[string]string{
		"signed by a stranger":        good.signedBy(jwt.SigningMethodES256, stranger).token(t),
		"signed with the public key":  good.signedBy(jwt.SigningMethodHS256, published).token(t),
		"signed with its bytes":       good.signedBy(jwt.SigningMethodHS256, der).token(t),
		"signed with nothing":         good.signedBy(jwt.SigningMethodHS256, []byte{}).token(t),
		"alg none":                    good.signedBy(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType).token(t),
		"alg None":                    good.withHeader("alg", "None").token(t),
		"alg of another key":          good.withHeader("alg", "RS256").token(t),
		"alg that nobody knows":       good.withHeader("alg", "ES257").token(t),
		"alg as a list":               good.withHeader("alg", []string{"ES256"}).token(t),
		"no alg":                      good.withHeader("alg", nil).token(t),
		"no kid":                      good.withHeader("kid", nil).token(t),
		"empty kid":                   good.withHeader("kid", "").token(t),
		"kid as a number":             good.withHeader("kid", 1).token(t),
		"unknown kid":                 good.withHeader("kid", "nobody").token(t),
		"kid of other letters":        good.withHeader("kid", id+" ").token(t),
		"critical extension":          good.withHeader("crit", []string{"exp"}).token(t),
		"empty critical extensions":   good.withHeader("crit", []string{}).token(t),
		"a key of its own in it":      good.signedBy(jwt.SigningMethodES256, stranger).withHeader("jwk", publicJWK(t, stranger.Public(), "own", "ES256", "sig")).withHeader("kid", "own").token(t),
		"a place to get its key from": good.signedBy(jwt.SigningMethodES256, stranger).withHeader("jku", s.JWKSURL).withHeader("kid", "own").token(t),
	})
}

func TestTokens_WithInvalidClaimsAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	good := honest(s.Env)
	checkTokensRefused(t, s, map[string]string{
		"expired":                   good.with("exp", fromNow(-45*time.Second)).token(t),
		"expired for ever":          good.with("exp", 0).token(t),
		"exp as a string":           good.with("exp", fmt.Sprint(fromNow(time.Hour))).token(t),
		"exp huge":                  good.with("exp", 1e300).token(t),
		"exp beyond 2^53":           good.with("exp", 1e16).token(t),
		"exp negative":              good.with("exp", -1).token(t),
		"exp null":                  good.with("exp", nil).token(t),
		"exp true":                  good.with("exp", true).token(t),
		"no exp":                    good.without("exp").token(t),
		"EXP":                       good.without("exp").with("EXP", fromNow(time.Hour)).token(t),
		"not before later":          good.with("nbf", fromNow(time.Minute)).token(t),
		"nbf as a string":           good.with("nbf", "0").token(t),
		"nbf negative":              good.with("nbf", -1e300).token(t),
		"issued later":              good.with("iat", fromNow(time.Minute)).token(t),
		"iat as a string":           good.with("iat", "0").token(t),
		"another issuer":            good.with("iss", "https://evil.example").token(t),
		"the issuer with a slash":   good.with("iss", devissuer.Name+"/").token(t),
		"issuer as a list":          good.with("iss", []string{devissuer.Name}).token(t),
		"no issuer":                 good.without("iss").token(t),
		"empty issuer":              good.with("iss", "").token(t),
		"another audience":          good.with("aud", "other").token(t),
		"no audience":               good.without("aud").token(t),
		"an empty list of them":     good.with("aud", []string{}).token(t),
		"audience as a number":      good.with("aud", 1).token(t),
		"no subject":                good.without("sub").token(t),
		"empty subject":             good.with("sub", "").token(t),
		"subject as a number":       good.with("sub", 42).token(t),
		"subject with a NUL":        good.with("sub", "alice\x00").token(t),
		"subject with a new line":   good.with("sub", "alice\n").token(t),
		"subject of 256 characters": good.with("sub", strings.Repeat("a", 256)).token(t),
		"subject as a list":         good.with("sub", []string{e2e.Alice}).token(t),
	})
}

// checkTokensRefused sends a call with each token.
func checkTokensRefused(t *testing.T, s *e2e.Service, tokens map[string]string) {
	t.Helper()
	for name, token := range tokens {
		t.Run(name, func(t *testing.T) { // at once, because some of them become valid
			checkUnauthenticated(t, s, balanceCall(token))
		})
	}
}

func TestTokens_AreReadFromOneBearerHeaderOnly(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	signed := honest(s.Env).token(t)
	authorization := func(values ...string) e2e.Call { return balanceCall("").WithHeader("Authorization", values...) }
	inQuery := balanceCall("")
	inQuery.Path += "?access_token=" + signed
	for name, c := range map[string]e2e.Call{
		"no header":              balanceCall(""),
		"an empty header":        authorization(""),
		"a scheme alone":         authorization("Bearer"),
		"a scheme and a space":   authorization("Bearer "),
		"no scheme":              authorization(signed),
		"Basic":                  authorization("Basic YWxpY2U6c2VjcmV0"),
		"the token as Basic":     authorization("Basic " + signed),
		"two headers":            authorization("Bearer "+signed, "Bearer "+signed),
		"two tokens in a header": authorization("Bearer " + signed + ", Bearer " + signed),
		"two spaces":             authorization("Bearer  " + signed),
		"in the query":           inQuery,
		"in query and header":    inQuery.WithToken(signed),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkUnauthenticated(t, s, c)
		})
	}
}

// checkUnauthenticated sends a call that must be refused exactly as one without a token
// is: nobody can learn from the response what is wrong with a token.
func checkUnauthenticated(t *testing.T, s *e2e.Service, c e2e.Call) {
	t.Helper()
	withoutToken, r := s.Send(t, balanceCall("")), s.Send(t, c)
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
		}},
		{"realm_access.roles", map[string]int{
			`{"realm_access": {"roles": ["offline_access", "customer"]}}`: ok,
			`{"realm_access": {"roles": []}}`:                             forbidden,
			`{"realm_access": ["customer"]}`:                              forbidden,
			`{"realm_access.roles": ["customer"]}`:                        forbidden,
			`{"roles": ["customer"]}`:                                     forbidden,
			otherRoleClaims:                                               forbidden,
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
