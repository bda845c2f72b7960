package auth_test

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
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
	for name, c := range calls {
		t.Run(name, func(t *testing.T) { // at once, because some of them expire
			s.MustSend(t, c)
		})
	}
}

func TestTokens_HaveAConfiguredType(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, "ORDERS_JWT_TYPES=at+jwt")
	good := honest(s.Env)
	for _, typ := range []string{"at+jwt", "application/at+jwt"} {
		s.MustSend(t, balanceCall(good.withHeader("typ", typ).token(t)))
	}
	checkUnauthenticated(t, s, balanceCall(good.withHeader("typ", "JWT").token(t)))
	checkUnauthenticated(t, s, balanceCall(good.withHeader("typ", nil).token(t))) // a token without typ is a JWT
}

func TestTokens_HaveAConfiguredLifetime(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, "ORDERS_JWT_MAX_LIFETIME=10m")
	good := honest(s.Env)
	issued := fromNow(-5 * time.Minute)
	s.MustSend(t, balanceCall(good.with("iat", issued).with("exp", issued+600).token(t)))
	checkUnauthenticated(t, s, balanceCall(good.with("iat", issued).with("exp", issued+601).token(t)))
}

// challenge is what WWW-Authenticate says to a caller with a token. It has the detail of the
// problem.
var challenge = regexp.MustCompile(`^Bearer error="invalid_token", error_description="([^"\\]+)"$`)

// checkUnauthenticated sends a call that must be refused, and returns the detail. It is the
// same in the body and in the challenge, which has no error where no token was sent.
func checkUnauthenticated(t *testing.T, s *e2e.Service, c e2e.Call) string {
	t.Helper()
	r := s.Send(t, c)
	var problem struct{ Detail string }
	if err := json.Unmarshal(r.Body, &problem); err != nil || r.Verdict() != "401 unauthenticated" {
		t.Errorf("%d %s: %v", r.Status, r.Body, err)
	}
	want := "Bearer"
	got := r.Header.Values("WWW-Authenticate")
	if problem.Detail != withoutToken {
		want = `Bearer error="invalid_token", error_description="` + problem.Detail + `"`
	}
	if len(got) != 1 || got[0] != want || want != "Bearer" && !challenge.MatchString(want) {
		t.Errorf("WWW-Authenticate is %q, want %s", got, want)
	}
	return problem.Detail
}

// otherClaims have roles where issuers of some kind have them, and not where the service
// can be configured to read them.
const otherClaims = `{"role": "customer", "groups": ["customer"], "permissions": ["customer"], "scp": ["customer"], "scopes": ["customer"],
	"cognito:groups": ["customer"], "https://orders.example/roles": ["customer"], "Roles": ["customer"], "realm_access": {"groups": ["customer"]},
	"resource_access": {"orders": {"roles": ["customer"]}}, "app_metadata": {"roles": ["customer"]}}`

// roleClaims are claims that grant a role, and claims that do not, by the configured path.
var roleClaims = map[string]struct{ grants, refuses []string }{
	"roles": {
		[]string{`{"roles": ["customer"]}`, `{"roles": "customer"}`, `{"roles": {"customer": true}}`},
		[]string{
			`{"roles": []}`, `{"roles": null}`, `{"roles": 1}`, `{"roles": {"customer": false}}`, `{"roles": [["customer"]]}`,
			`{"roles": ["customers", "CUSTOMER", ""]}`, `{"roles": ["customer,admin"]}`, `{"scope": "customer"}`,
			`{"roles": [], "realm_access": {"roles": ["admin"]}, "scope": "admin", "groups": ["admin"]}`, otherClaims,
			`{"roles": ["root", "superuser", "owner", "support", "Admin", "ADMIN", "admin ", "admin*", "*", null, 1]}`,
		},
	},
	"realm_access.roles": {
		[]string{`{"realm_access": {"roles": ["offline_access", "customer"]}}`, `{"realm_access.roles": ["customer"]}`},
		[]string{
			`{"realm_access": {"roles": []}}`, `{"realm_access": ["customer"]}`, otherClaims,
			`{"roles": ["customer"], "realm_access": {"roles": ["root"]}}`,
		},
	},
	"scope": {
		[]string{`{"scope": "openid customer email"}`},
		[]string{`{"scope": "openid email"}`, `{"scope": ""}`, `{"roles": ["customer"]}`, otherClaims},
	},
}

func TestRoles_ComeFromConfiguredClaimOnly(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	balance := func(claims string) e2e.Call {
		f := honest(env).without("roles")
		if err := json.Unmarshal([]byte(claims), &f.claims); err != nil {
			t.Fatal(err)
		}
		return balanceCall(f.token(t))
	}
	for path, c := range roleClaims {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := env.StartReplica(t, "ORDERS_ROLES_CLAIM="+path)
			for _, claims := range c.grants {
				s.MustSend(t, balance(claims))
			}
			for _, claims := range c.refuses {
				if r := s.Send(t, balance(claims)); r.Verdict() != "403 forbidden_role" {
					t.Errorf("%s: %s", claims, r.Verdict())
				}
			}
			const want = "the token lacks the claim with its roles; the issuer must add it"
			for claims, lacks := range map[string]bool{`{}`: true, c.grants[0]: false} {
				if r := s.Send(t, e2e.Get(balance(claims).Token, "/admin/audit-log")); strings.Contains(string(r.Body), want) != lacks || r.Status != http.StatusForbidden {
					t.Errorf("%s: %s, lacks the claim: %t", claims, r.Body, lacks)
				}
			}
		})
	}
}

// loggedRequests returns requests and the members of their log lines that differ, in the
// order in which they are sent.
func loggedRequests(t testing.TB, s *e2e.Service) []struct {
	call e2e.Call
	want string
} {
	t.Helper()
	customer := s.CustomerToken(t)
	create := s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithKey("key-of-the-log-test")
	other := s.CreateOrderCall(t, e2e.Alice, "tea", 1000)
	const post = `"info","method":"POST","route":"/orders",`
	const digest, otherDigest = `"key_sha256":"3b8b5226417b"`, `"key_sha256":"dfc42b516926"` // SHA-256
	return []struct {
		call e2e.Call
		want string
	}{
		{create, post + `"status":201,"principal":"alice","order_id":1,"idempotency":"created",` + digest},
		{create, post + `"status":201,"principal":"alice","order_id":1,"idempotency":"reused",` + digest},
		{create.WithBody(other.Body), post + `"status":409,"principal":"alice","code":"idempotency_key_reused",` + digest},
		{other.WithKey("another-key"), post + `"status":409,"principal":"alice","code":"out_of_stock","idempotency":"created",` + otherDigest},
		{e2e.Get(customer, "/orders/999999"), `"info","method":"GET","route":"/orders/{order_id}","status":404,"principal":"alice","order_id":999999,"code":"not_found"`},
		{e2e.Get("", "/orders/1"), `"info","method":"GET","route":"/orders/{order_id}","status":401,"order_id":1,"code":"unauthenticated","reason":"missing"`},
		{e2e.Get("hunter2", "/orders/1"), `"info","method":"GET","route":"/orders/{order_id}","status":401,"order_id":1,"code":"unauthenticated","reason":"opaque"`},
		{e2e.Get("", "/no/such/path"), `"info","method":"GET","route":"","status":404,"code":"not_found"`},
		{e2e.Call{Method: "DELETE", Path: "/orders"}, `"info","method":"DELETE","route":"","status":405,"code":"method_not_allowed"`},
		{e2e.Get("", "/health/ready"), `"debug","method":"GET","route":"/health/ready","status":200`},
	}
}

// everyLine finds the members that every line has.
var everyLine = regexp.MustCompile(`,"(request_id|remote_addr|duration_ms|time|message)":[^,}]+`)

func TestLog_HasOneLineForEachRequest(t *testing.T) {
	t.Parallel()
	log := &testlog.Buffer{}
	newLog := func(cfg config.Config) zerolog.Logger { return app.NewLog(cfg, log) }
	s := e2e.NewEnv(t).StartReplicaWithLog(t, newLog, "ORDERS_LOG_LEVEL=debug")
	s.PutProduct(t, "tea", 10)
	for i, c := range loggedRequests(t, s) {
		id := fmt.Sprintf("request-%d", i)
		c.call.Header = http.Header{"X-Request-Id": {id}}
		s.Send(t, c.call)
		var lines []string
		e2e.Eventually(t, "the request has a line in the log", func() bool {
			lines = regexp.MustCompile(`.*"request_id":"`+id+`".*`).FindAllString(log.String(), -1)
			return len(lines) > 0
		})
		if got, want := everyLine.ReplaceAllString(lines[0], ""), `{"level":`+c.want+"}"; got != want || len(lines) > 1 {
			t.Errorf("%d lines, %s, want %s", len(lines), got, want)
		}
		if n := len(everyLine.FindAllString(lines[0], -1)); n != 5 {
			t.Errorf("a member is missing: %s", lines[0])
		}
	}
}
