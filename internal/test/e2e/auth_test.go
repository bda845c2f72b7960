package e2e_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	devissuer "example.com/orders/internal/dev/issuer"
)

// forge signs a token as it is told to, also where no honest issuer would.
type forge struct {
	header, claims map[string]any
	method         jwt.SigningMethod
	key            any
}

// honest is a forge that makes good tokens of alice.
func honest(w *world) forge {
	id, key := w.issuer.Key()
	return forge{
		header: map[string]any{"alg": "ES256", "typ": "JWT", "kid": id},
		claims: w.issuer.Claims(alice, []string{"customer"}, time.Hour),
		method: jwt.SigningMethodES256, key: key,
	}
}

// with sets a claim, and without drops one.
func (f forge) with(name string, value any) forge {
	f.claims = maps.Clone(f.claims)
	f.claims[name] = value
	return f
}

func (f forge) without(name string) forge {
	f.claims = maps.Clone(f.claims)
	delete(f.claims, name)
	return f
}

// head sets a member of the header; nil drops it.
func (f forge) head(name string, value any) forge {
	f.header = maps.Clone(f.header)
	f.header[name] = value
	if value == nil {
		delete(f.header, name)
	}
	return f
}

// by signs with another method and key.
func (f forge) by(method jwt.SigningMethod, key any) forge {
	f = f.head("alg", method.Alg())
	f.method, f.key = method, key
	return f
}

// token makes the token.
func (f forge) token(t testing.TB) string {
	t.Helper()
	return f.sign(t, text(t, f.header), text(t, f.claims))
}

// sign signs header and claims that are given as text.
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

// balanceCall reads alice's balance, which every role of hers may.
func balanceCall(token string) call {
	return call{method: "GET", path: "/customers/alice/balance", token: token}
}

// fromNow tells seconds from now as a claim does.
func fromNow(d time.Duration) int64 { return time.Now().Add(d).Unix() }

func TestTokensOfTheIssuerAreAccepted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	good := honest(s.world)
	for name, token := range map[string]string{
		"as it is":                   good.token(t),
		"expired within the leeway":  good.with("exp", fromNow(-15*time.Second)).token(t),
		"not before, within it":      good.with("nbf", fromNow(15*time.Second)).token(t),
		"issued later, within it":    good.with("iat", fromNow(15*time.Second)).token(t),
		"without nbf":                good.without("nbf").token(t),
		"without iat":                good.without("iat").token(t),
		"for several audiences":      good.with("aud", []string{"other", devissuer.Audience}).token(t),
		"times with a fraction":      good.with("exp", float64(fromNow(time.Hour))+0.5).token(t),
		"without typ":                good.head("typ", nil).token(t),
		"a role beside unknown ones": good.with("roles", []string{"root", "customer", "Admin"}).token(t),
		"roles as one string":        good.with("roles", "auditor customer").token(t),
		"just below the size limit":  good.with("x", strings.Repeat("x", 5000)).token(t),
	} {
		t.Run(name, func(t *testing.T) { // at once, for some of them expire
			if r := s.in(t).send(balanceCall(token)); r.status != http.StatusOK {
				t.Errorf("status %d: %s", r.status, r.body)
			}
		})
	}
	t.Run("the scheme in other letters", func(t *testing.T) {
		t.Parallel()
		c := balanceCall("")
		c.header = http.Header{"Authorization": {"bEARER " + good.token(t)}}
		if r := s.send(c); r.status != http.StatusOK {
			t.Errorf("status %d: %s", r.status, r.body)
		}
	})
}

// Whatever is wrong with a token, the answer is the same to the last byte: nobody can
// learn from it what to try next.
func TestBadTokensAreRefusedWithoutAWordOnWhy(t *testing.T) {
	t.Parallel()
	s := newService(t)
	good := honest(s.world)
	id, key := s.issuer.Key()
	stranger := signingKey(t)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	published := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	signed := good.token(t)
	parts := strings.Split(signed, ".")
	claims := text(t, good.claims)
	header := text(t, good.header)
	admin := encode(text(t, good.with("roles", []string{"admin"}).claims))

	for name, token := range map[string]string{
		"no token at all":           "x",
		"dots":                      "..",
		"two parts":                 parts[0] + "." + parts[1],
		"four parts":                signed + ".x",
		"five parts":                "a.b.c.d.e",
		"claims of others":          parts[0] + "." + admin + "." + parts[2],
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

		"signed by a stranger":        good.by(jwt.SigningMethodES256, stranger).token(t),
		"signed with the public key":  good.by(jwt.SigningMethodHS256, published).token(t),
		"signed with its bytes":       good.by(jwt.SigningMethodHS256, der).token(t),
		"signed with nothing":         good.by(jwt.SigningMethodHS256, []byte{}).token(t),
		"alg none":                    good.by(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType).token(t),
		"alg None":                    good.head("alg", "None").token(t),
		"alg of another key":          good.head("alg", "RS256").token(t),
		"alg that nobody knows":       good.head("alg", "ES257").token(t),
		"alg as a list":               good.head("alg", []string{"ES256"}).token(t),
		"no alg":                      good.head("alg", nil).token(t),
		"no kid":                      good.head("kid", nil).token(t),
		"empty kid":                   good.head("kid", "").token(t),
		"kid as a number":             good.head("kid", 1).token(t),
		"unknown kid":                 good.head("kid", "nobody").token(t),
		"kid of other letters":        good.head("kid", id+" ").token(t),
		"critical extension":          good.head("crit", []string{"exp"}).token(t),
		"empty critical extensions":   good.head("crit", []string{}).token(t),
		"a key of its own in it":      good.by(jwt.SigningMethodES256, stranger).head("jwk", publicJWK(t, stranger.Public(), "own", "ES256", "sig")).head("kid", "own").token(t),
		"a place to get its key from": good.by(jwt.SigningMethodES256, stranger).head("jku", s.jwksURL).head("kid", "own").token(t),

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
		"subject as a list":         good.with("sub", []string{alice}).token(t),
	} {
		t.Run(name, func(t *testing.T) { // at once, for some of them become good
			checkUnauthenticated(t, s, balanceCall(token))
		})
	}
	basic := func(values ...string) call {
		c := balanceCall("")
		c.header = http.Header{"Authorization": values}
		return c
	}
	inQuery := balanceCall("")
	inQuery.path += "?access_token=" + signed
	inBoth := balanceCall(signed)
	inBoth.path = inQuery.path
	for name, c := range map[string]call{
		"no header":              balanceCall(""),
		"an empty header":        basic(""),
		"a scheme alone":         basic("Bearer"),
		"a scheme and a space":   basic("Bearer "),
		"no scheme":              basic(signed),
		"Basic":                  basic("Basic YWxpY2U6c2VjcmV0"),
		"the token as Basic":     basic("Basic " + signed),
		"two headers":            basic("Bearer "+signed, "Bearer "+signed),
		"two tokens in a header": basic("Bearer " + signed + ", Bearer " + signed),
		"two spaces":             basic("Bearer  " + signed),
		"in the query":           inQuery,
		"in query and header":    inBoth,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkUnauthenticated(t, s, c)
		})
	}
}

// checkUnauthenticated sends a request that must get the one 401 there is.
func checkUnauthenticated(t *testing.T, s *service, c call) {
	t.Helper()
	r := s.in(t).send(c)
	const want = `{"code":"unauthenticated","detail":"a valid bearer token is required","instance":"/customers/alice/balance",` +
		`"request_id":"REQUEST","retryable":false,"status":401,"title":"Authentication is required",` +
		`"type":"https://orders.example.com/problems/unauthenticated"}`
	if got := strings.Replace(string(r.body), r.header.Get("X-Request-Id"), "REQUEST", 1); r.status != http.StatusUnauthorized || got != want {
		t.Errorf("%d %s\nwant 401 %s", r.status, got, want)
	}
	if got := r.header.Values("WWW-Authenticate"); len(got) != 1 || got[0] != "Bearer" {
		t.Errorf("WWW-Authenticate is %q, want Bearer", got)
	}
}

func TestRolesComeFromTheConfiguredClaimAndNowhereElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
		}},
		{"realm_access.roles", map[string]int{
			`{"realm_access": {"roles": ["offline_access", "customer"]}}`: ok,
			`{"realm_access": {"roles": []}}`:                             forbidden,
			`{"realm_access": ["customer"]}`:                              forbidden,
			`{"realm_access.roles": ["customer"]}`:                        forbidden,
			`{"roles": ["customer"]}`:                                     forbidden,
		}},
		{"scope", map[string]int{
			`{"scope": "openid customer email"}`: ok,
			`{"scope": "openid email"}`:          forbidden,
			`{"scope": ""}`:                      forbidden,
			`{"roles": ["customer"]}`:            forbidden,
		}},
	} {
		s := w.replica("ORDERS_ROLES_CLAIM=" + c.claim)
		for claims, want := range c.cases {
			t.Run(c.claim+" of "+claims, func(t *testing.T) {
				t.Parallel()
				f := honest(w).without("roles")
				if err := json.Unmarshal([]byte(claims), &f.claims); err != nil {
					t.Fatal(err)
				}
				r := s.in(t).send(balanceCall(f.token(t)))
				if r.status != want || (want == forbidden && r.code() != "forbidden_role") {
					t.Errorf("status %d, want %d: %s", r.status, want, r.body)
				}
			})
		}
	}
}

// keyServer publishes keys as a test wants them published, and counts who asks.
type keyServer struct {
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
}

// publish sets how the server answers from now on.
func (k *keyServer) publish(answer http.HandlerFunc) { k.answer.Store(&answer) }

// newKeyServer puts a server of the test's own in the place of the world's issuer.
func newKeyServer(w *world, answer http.HandlerFunc) *keyServer {
	w.Helper()
	k := &keyServer{}
	k.publish(answer)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		k.asked.Add(1)
		(*k.answer.Load())(rw, r)
	}))
	w.Cleanup(server.Close)
	w.jwksURL = server.URL + devissuer.JWKSPath
	return k
}

// keySet answers with these keys.
func keySet(t testing.TB, keys ...jwkset.JWKMarshal) http.HandlerFunc {
	t.Helper()
	body := text(t, jwkset.JWKSMarshal{Keys: keys})
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) }
}

func publicJWK(t testing.TB, key crypto.PublicKey, id, alg, use string) jwkset.JWKMarshal {
	t.Helper()
	jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{
		KID: id, ALG: jwkset.ALG(alg), USE: jwkset.USE(use),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return jwk.Marshal()
}

// What a key is published for is all that it is good for.
func TestKeysVerifyWhatTheyArePublishedFor(t *testing.T) {
	t.Parallel()
	p256 := signingKey(t)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	newKeyServer(w, keySet(t,
		publicJWK(t, p256.Public(), "ec", "ES256", "sig"), publicJWK(t, p384.Public(), "ec384", "ES384", "sig"),
		publicJWK(t, rsaKey.Public(), "rs", "RS256", "sig"), publicJWK(t, rsaKey.Public(), "ps", "PS256", "sig"),
		publicJWK(t, rsaKey.Public(), "rsa", "", ""), publicJWK(t, edPublic, "ed", "EdDSA", "sig"),
		publicJWK(t, p256.Public(), "enc", "", "enc"),
	))
	s := w.replica()
	for _, c := range []struct {
		name, kid string
		method    jwt.SigningMethod
		key       any
		accepted  bool
	}{
		{"ES256", "ec", jwt.SigningMethodES256, p256, true},
		{"RS256", "rs", jwt.SigningMethodRS256, rsaKey, true},
		{"PS256", "ps", jwt.SigningMethodPS256, rsaKey, true},
		{"EdDSA", "ed", jwt.SigningMethodEdDSA, edKey, true},
		{"a key without alg and use", "rsa", jwt.SigningMethodPS256, rsaKey, true},
		{"a method that is not allowed, though published", "ec384", jwt.SigningMethodES384, p384, false},
		{"RS512", "rsa", jwt.SigningMethodRS512, rsaKey, false},
		{"another alg than is published", "rs", jwt.SigningMethodPS256, rsaKey, false},
		{"a key for encryption", "enc", jwt.SigningMethodES256, p256, false},
		{"the kid of another key", "rs", jwt.SigningMethodES256, p256, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ask := balanceCall(honest(w).by(c.method, c.key).head("kid", c.kid).token(t))
			if !c.accepted {
				checkUnauthenticated(t, s, ask)
				return
			}
			if r := s.send(ask); r.status != http.StatusOK {
				t.Errorf("status %d: %s", r.status, r.body)
			}
		})
	}
}

// The service asks the issuer for unknown keys once in ten seconds at the most, so this
// takes that long.
func TestRotatedKeysAreFoundAndRetiredOnesForgotten(t *testing.T) {
	t.Parallel()
	s := newService(t)
	status := func(token string) int { return s.send(balanceCall(token)).status }
	before := honest(s.world).token(t)
	if got := status(before); got != http.StatusOK {
		t.Fatalf("the first key: status %d", got)
	}
	if err := s.issuer.Rotate(); err != nil {
		t.Fatal(err)
	}
	after := honest(s.world)
	if got := status(after.token(t)); got != http.StatusOK {
		t.Errorf("the new key, at once: status %d", got)
	}
	if got := status(before); got != http.StatusOK {
		t.Errorf("the old key, still published: status %d", got)
	}
	if err := s.issuer.Retire(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old key is refused", func() bool {
		if got := status(after.head("kid", rand.Text()).token(t)); got != http.StatusUnauthorized {
			t.Errorf("an unknown key, which makes the service ask the issuer: status %d", got)
		}
		return status(before) == http.StatusUnauthorized
	})
	if got := status(after.token(t)); got != http.StatusOK {
		t.Errorf("the new key, after all: status %d", got)
	}
}

// A token that was good a moment ago may be remembered, but not beyond its time.
func TestTokensAreGoodUntilTheyExpire(t *testing.T) {
	t.Parallel()
	s := newService(t)
	token := honest(s.world).with("exp", fromNow(-27*time.Second)).token(t)
	if r := s.send(balanceCall(token)); r.status != http.StatusOK {
		t.Fatalf("seconds before the leeway ends: status %d: %s", r.status, r.body)
	}
	eventually(t, "the token is refused", func() bool { return s.send(balanceCall(token)).status == http.StatusUnauthorized })
}

// Another key may come under the name of one that leaked; what that one signed is void.
func TestReplacedKeysAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	leaked, next := signingKey(t), signingKey(t)
	keys := newKeyServer(w, keySet(t, publicJWK(t, leaked.Public(), "main", "ES256", "sig")))
	s := w.replica()
	before := honest(w).by(jwt.SigningMethodES256, leaked).head("kid", "main").token(t)
	after := honest(w).by(jwt.SigningMethodES256, next).head("kid", "main").token(t)
	if r := s.send(balanceCall(before)); r.status != http.StatusOK {
		t.Fatalf("the first key: status %d: %s", r.status, r.body)
	}
	keys.publish(keySet(t, publicJWK(t, next.Public(), "main", "ES256", "sig")))
	eventually(t, "the first key is refused", func() bool {
		s.wantProblem(http.StatusUnauthorized, "unauthenticated", balanceCall(honest(w).head("kid", rand.Text()).token(t)))
		return s.send(balanceCall(before)).status == http.StatusUnauthorized
	})
	if r := s.send(balanceCall(after)); r.status != http.StatusOK {
		t.Errorf("the second key: status %d: %s", r.status, r.body)
	}
}

func signingKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Forged tokens with new names of keys must not make us a burden to the issuer.
func TestUnknownKeysDoNotFloodTheIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keys := newKeyServer(w, w.issuer.Handler().ServeHTTP)
	s := w.replica()
	started, asked := time.Now(), keys.asked.Load()
	for range 50 {
		checkUnauthenticated(t, s, balanceCall(honest(w).head("kid", rand.Text()).token(t)))
	}
	if most := 2 + int64(time.Since(started)/(10*time.Second)); keys.asked.Load()-asked > most {
		t.Errorf("the issuer was asked %d times for 50 unknown keys, want at most %d", keys.asked.Load()-asked, most)
	}
	if r := s.send(balanceCall(honest(w).token(t))); r.status != http.StatusOK {
		t.Errorf("a good token afterwards: status %d", r.status)
	}
}

// troubles are the ways in which an issuer fails.
func troubles(w *world, done <-chan struct{}) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"hangs up": func(_ http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		"fails":    func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) },
		"garbage":  func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, "<html>maintenance</html>") },
		"no keys":  func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, `{"keys": []}`) },
		"null":     func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, `null`) },
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-done:
			case <-r.Context().Done():
			}
		},
		"huge": func(rw http.ResponseWriter, r *http.Request) { // the right keys, after a megabyte of nothing
			_, _ = fmt.Fprint(rw, strings.Repeat(" ", 2<<20))
			w.issuer.Handler().ServeHTTP(rw, r)
		},
	}
}

// The services wait for their keys at the same time, for each asks the issuer once in
// ten seconds at the most.
func TestWithoutKeysTheServiceIsNotReadyAndRecovers(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	ready := call{method: "GET", path: "/health/ready"}
	services := map[string]*service{}
	w := newWorld(t)
	for name, trouble := range troubles(w, done) {
		keys := newKeyServer(w, trouble)
		s := w.replica()
		services[name] = s
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			for what, c := range map[string]call{"readiness": ready, "a request": balanceCall(honest(w).token(t))} {
				r := s.wantProblem(http.StatusServiceUnavailable, "unavailable", c)
				if r.header.Get("Retry-After") == "" {
					t.Errorf("%s: no Retry-After", what)
				}
			}
			if r := s.send(call{method: "GET", path: "/health/live"}); r.status != http.StatusOK {
				t.Errorf("liveness: status %d", r.status)
			}
			s.wantProblem(http.StatusUnauthorized, "unauthenticated", balanceCall(""))
		})
		keys.publish(func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(200 * time.Millisecond) // as far away as an issuer may be
			w.issuer.Handler().ServeHTTP(rw, r)
		})
	}
	for name, s := range services {
		t.Run(name+" no more", func(t *testing.T) {
			s := s.in(t)
			eventually(t, "ready", func() bool { return s.send(ready).status == http.StatusOK })
			if r := s.send(balanceCall(honest(s.world).token(t))); r.status != http.StatusOK {
				t.Errorf("a request: status %d: %s", r.status, r.body)
			}
		})
	}
}

// An issuer that fails later takes nothing away: the keys that are known stay. An empty
// set is no failure: it is the issuer's word that no key is good.
func TestKeysSurviveTroublesOfTheIssuer(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	w := newWorld(t)
	for name, trouble := range troubles(w, done) {
		if name == "no keys" || name == "null" {
			continue
		}
		keys := newKeyServer(w, w.issuer.Handler().ServeHTTP)
		s := w.replica()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys.publish(trouble)
			asked := keys.asked.Load()
			checkUnauthenticated(t, s, balanceCall(honest(w).head("kid", "unknown").token(t)))
			if keys.asked.Load() == asked {
				t.Fatal("the issuer was not asked, so this proves nothing")
			}
			if r := s.send(balanceCall(honest(w).token(t))); r.status != http.StatusOK {
				t.Errorf("a known key: status %d: %s", r.status, r.body)
			}
			if r := s.send(call{method: "GET", path: "/health/ready"}); r.status != http.StatusOK {
				t.Errorf("readiness: status %d: %s", r.status, r.body)
			}
		})
	}
}
