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

// A token that was verified may be cached, but not longer than it is valid.
func TestTokens_AreRefusedWhenTheyExpire(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	token := honest(s.Env).with("exp", fromNow(-27*time.Second)).token(t)
	s.MustSend(t, balanceCall(token)) // seconds before the leeway ends
	e2e.Eventually(t, "the token is refused", func() bool { return s.Send(t, balanceCall(token)).Status == http.StatusUnauthorized })
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
	s.MustSend(t, balanceCall(honest(env).token(t)))
}
