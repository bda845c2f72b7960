package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
)

// keyServer publishes keys in the place of the issuer, and counts requests.
type keyServer struct {
	answer   atomic.Pointer[http.HandlerFunc]
	requests atomic.Int64
}

// publish sets what the server answers from now on.
func (k *keyServer) publish(answer http.HandlerFunc) { k.answer.Store(&answer) }

// newKeyServer makes replicas that start from now on get their keys from it.
func newKeyServer(t testing.TB, env *e2e.Env, answer http.HandlerFunc) *keyServer {
	t.Helper()
	k := &keyServer{}
	k.publish(answer)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		k.requests.Add(1)
		(*k.answer.Load())(rw, r)
	}))
	t.Cleanup(server.Close)
	env.JWKSURL = server.URL + devissuer.JWKSPath
	return k
}

// keySet returns a handler that publishes keys.
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

// signer is a key with which tokens are signed.
type signer struct {
	kid    string
	method jwt.SigningMethod
	key    crypto.Signer
}

// newSigners returns a signer for each algorithm that the service accepts. Its kid is the
// name of the algorithm.
func newSigners(t testing.TB) map[string]signer {
	t.Helper()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pssKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signers := map[string]signer{}
	for method, key := range map[jwt.SigningMethod]crypto.Signer{
		jwt.SigningMethodES256: signingKey(t), jwt.SigningMethodRS256: rsaKey,
		jwt.SigningMethodPS256: pssKey, jwt.SigningMethodEdDSA: edKey,
	} {
		signers[method.Alg()] = signer{method.Alg(), method, key}
	}
	return signers
}

// jwk returns the public key as the issuer publishes it.
func (s signer) jwk(t testing.TB) jwkset.JWKMarshal {
	t.Helper()
	return publicJWK(t, s.key.Public(), s.kid, s.method.Alg(), "sig")
}

// startWithSigners starts a replica that accepts tokens of all signers.
func startWithSigners(t testing.TB, settings ...string) (*e2e.Service, map[string]signer) {
	t.Helper()
	env, signers := e2e.NewEnv(t), newSigners(t)
	var keys []jwkset.JWKMarshal
	for _, s := range signers {
		keys = append(keys, s.jwk(t))
	}
	newKeyServer(t, env, keySet(t, keys...))
	return env.StartReplica(t, settings...), signers
}

// by returns the forge with the key of a signer.
func (f forge) by(s signer) forge { return f.signedBy(s.method, s.key).withHeader("kid", s.kid) }

func TestKeys_VerifyOnlyWhatTheyArePublishedFor(t *testing.T) {
	t.Parallel()
	env, signers := e2e.NewEnv(t), newSigners(t)
	ec, rs, ps := signers["ES256"], signers["RS256"], signers["PS256"]
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	private := publicJWK(t, rs.key.Public(), "private", "RS256", "sig")
	private.D = "AQAB"
	toSign := publicJWK(t, ec.key.Public(), "to sign", "ES256", "")
	toSign.KEYOPS = []jwkset.KEYOPS{jwkset.KeyOpsSign}
	newKeyServer(t, env, keySet(t,
		ec.jwk(t), rs.jwk(t), ps.jwk(t), publicJWK(t, rs.key.Public(), "RSA", "", ""), publicJWK(t, ec.key.Public(), "EC", "", ""),
		publicJWK(t, p384.Public(), "P-384", "ES384", "sig"), publicJWK(t, weak.Public(), "weak", "RS256", "sig"),
		publicJWK(t, ec.key.Public(), "enc", "", "enc"), private, toSign,
		jwkset.JWKMarshal{KTY: jwkset.KtyOct, KID: "oct", ALG: "HS256", K: encode("secret")},
	))
	s := env.StartReplica(t)
	for _, c := range []struct {
		name, kid string
		method    jwt.SigningMethod
		key       any
		accepted  bool
	}{
		{"an RSA key without alg, RS256", "RSA", jwt.SigningMethodRS256, rs.key, true},
		{"an RSA key without alg, PS256", "RSA", jwt.SigningMethodPS256, rs.key, false},
		{"an EC key without alg", "EC", jwt.SigningMethodES256, ec.key, true},
		{"RS512", "RS256", jwt.SigningMethodRS512, rs.key, false},
		{"an algorithm that is not allowed, though published", "P-384", jwt.SigningMethodES384, p384, false},
		{"another algorithm than published", "RS256", jwt.SigningMethodPS256, rs.key, false},
		{"the kid of another key", "RS256", jwt.SigningMethodES256, ec.key, false},
		{"RSA of 1024 bits", "weak", jwt.SigningMethodRS256, weak, false},
		{"a key for encryption", "enc", jwt.SigningMethodES256, ec.key, false},
		{"a key that may only sign", "to sign", jwt.SigningMethodES256, ec.key, false},
		{"a private key that is published", "private", jwt.SigningMethodRS256, rs.key, false},
		{"a symmetric key", "oct", jwt.SigningMethodHS256, []byte("secret"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ask := balanceCall(honest(env).signedBy(c.method, c.key).withHeader("kid", c.kid).token(t))
			if !c.accepted {
				checkUnauthenticated(t, s, ask)
			} else if r := s.Send(t, ask); r.Status != http.StatusOK {
				t.Errorf("status %d: %s", r.Status, r.Body)
			}
		})
	}
}

// The service asks the issuer for unknown keys at most once in ten seconds, so this
// takes that long.
func TestKeys_RotatedAreFoundAndRetiredForgotten(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	status := func(token string) int { return s.Send(t, balanceCall(token)).Status }
	before := honest(s.Env).token(t)
	if got := status(before); got != http.StatusOK {
		t.Fatalf("the first key: status %d", got)
	}
	if err := s.Issuer.Rotate(); err != nil {
		t.Fatal(err)
	}
	after := honest(s.Env)
	if got := status(after.token(t)); got != http.StatusOK {
		t.Errorf("the new key, at once: status %d", got)
	}
	if got := status(before); got != http.StatusOK {
		t.Errorf("the old key, still published: status %d", got)
	}
	if err := s.Issuer.Retire(); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, "the old key is refused", func() bool {
		if got := status(after.withHeader("kid", rand.Text()).token(t)); got != http.StatusUnauthorized {
			t.Errorf("an unknown key, which makes the service ask the issuer: status %d", got)
		}
		return status(before) == http.StatusUnauthorized
	})
	if got := status(after.token(t)); got != http.StatusOK {
		t.Errorf("the new key, after all: status %d", got)
	}
}

// A token that was verified may be cached, but not longer than it is valid.
func TestTokens_AreRefusedWhenTheyExpire(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	token := honest(s.Env).with("exp", fromNow(-27*time.Second)).token(t)
	if r := s.Send(t, balanceCall(token)); r.Status != http.StatusOK {
		t.Fatalf("seconds before the leeway ends: status %d: %s", r.Status, r.Body)
	}
	e2e.Eventually(t, "the token is refused", func() bool { return s.Send(t, balanceCall(token)).Status == http.StatusUnauthorized })
}

// Another key may replace one that leaked under the same ID. What the old one signed is
// no longer accepted.
func TestKeys_ReplacedAreForgotten(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	leaked, next := signingKey(t), signingKey(t)
	keys := newKeyServer(t, env, keySet(t, publicJWK(t, leaked.Public(), "main", "ES256", "sig")))
	s := env.StartReplica(t)
	before := honest(env).signedBy(jwt.SigningMethodES256, leaked).withHeader("kid", "main").token(t)
	after := honest(env).signedBy(jwt.SigningMethodES256, next).withHeader("kid", "main").token(t)
	if r := s.Send(t, balanceCall(before)); r.Status != http.StatusOK {
		t.Fatalf("the first key: status %d: %s", r.Status, r.Body)
	}
	keys.publish(keySet(t, publicJWK(t, next.Public(), "main", "ES256", "sig")))
	e2e.Eventually(t, "the first key is refused", func() bool {
		s.WantProblem(t, http.StatusUnauthorized, "unauthenticated", balanceCall(honest(env).withHeader("kid", rand.Text()).token(t)))
		return s.Send(t, balanceCall(before)).Status == http.StatusUnauthorized
	})
	if r := s.Send(t, balanceCall(after)); r.Status != http.StatusOK {
		t.Errorf("the second key: status %d: %s", r.Status, r.Body)
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

// Forged tokens with ever new key IDs must not become load on the issuer.
func TestKeys_UnknownOnesDoNotFloodIssuer(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	keys := newKeyServer(t, env, env.Issuer.Handler().ServeHTTP)
	s := env.StartReplica(t)
	started, before := time.Now(), keys.requests.Load()
	for range 50 {
		checkUnauthenticated(t, s, balanceCall(honest(env).withHeader("kid", rand.Text()).token(t)))
	}
	if most := 2 + int64(time.Since(started)/(10*time.Second)); keys.requests.Load()-before > most {
		t.Errorf("the issuer was asked %d times for 50 unknown keys, want at most %d", keys.requests.Load()-before, most)
	}
	if r := s.Send(t, balanceCall(honest(env).token(t))); r.Status != http.StatusOK {
		t.Errorf("a good token afterwards: status %d", r.Status)
	}
}
