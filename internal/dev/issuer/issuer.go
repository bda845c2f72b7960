// Package issuer signs access tokens for development and tests. It signs anything, so
// it must never run in production.
package issuer

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

const (
	// Name is the default for the claim "iss".
	Name = "https://orders.localhost/development-issuer"
	// Audience is the default for the claim "aud".
	Audience = "orders"
	// JWKSPath is the path where the public keys are served.
	JWKSPath = "/.well-known/jwks.json"

	rsaBits = 2048
)

// Config describes an issuer.
type Config struct {
	// Dir is where the private keys are stored, readable by their owner only. Empty
	// means that they are kept in memory.
	Dir string
	// Name and Audience are the claims "iss" and "aud". Empty means the constants
	// [Name] and [Audience].
	Name, Audience string
	// Algorithm is that of new keys: RS256 (the default) or ES256.
	Algorithm string
}

// Issuer signs access tokens and publishes the keys that verify them. It authenticates
// no callers.
type Issuer struct {
	cfg  Config
	mu   sync.RWMutex
	keys []signingKey // oldest first; the newest one signs
}

type signingKey struct {
	id      string
	private crypto.Signer
	file    string // empty if the key is in memory only
}

// New loads the keys from cfg.Dir, or generates the first one.
func New(cfg Config) (*Issuer, error) {
	cfg.Name = cmp.Or(cfg.Name, Name)
	cfg.Audience = cmp.Or(cfg.Audience, Audience)
	cfg.Algorithm = cmp.Or(cfg.Algorithm, jwt.SigningMethodRS256.Alg())
	keys, err := loadKeys(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the development issuer: %w", err)
	}
	issuer := &Issuer{cfg: cfg, keys: keys}
	if len(keys) > 0 {
		return issuer, nil
	}
	if err := issuer.Rotate(); err != nil {
		return nil, err
	}
	return issuer, nil
}

// Rotate generates a key, which signs from now on. Older keys stay published until
// Retire.
func (i *Issuer) Rotate() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	private, err := generateKey(i.cfg.Algorithm)
	if err != nil {
		return fmt.Errorf("rotate the development keys: %w", err)
	}
	key, err := saveKey(i.cfg.Dir, private)
	if err != nil {
		return fmt.Errorf("rotate the development keys: %w", err)
	}
	i.keys = append(i.keys, key)
	return nil
}

// Retire removes all keys but the newest, so that tokens that they signed are rejected.
func (i *Issuer) Retire() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.keys) > 1 {
		if err := i.keys[0].remove(); err != nil {
			return fmt.Errorf("retire development key %s: %w", i.keys[0].id, err)
		}
		i.keys = i.keys[1:]
	}
	return nil
}

// Token returns a signed access token for sub with the given roles, valid from now on.
func (i *Issuer) Token(sub string, roles []string, ttl time.Duration) (string, error) {
	return i.Sign(i.Claims(sub, roles, ttl))
}

// Claims returns the claims of Token, for tests that change them before Sign.
func (i *Issuer) Claims(sub string, roles []string, ttl time.Duration) jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{
		"iss": i.cfg.Name, "aud": i.cfg.Audience, "sub": sub, "roles": roles,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(ttl).Unix(), "jti": rand.Text(),
	}
}

// Sign returns a token with any claims, signed with the newest key.
func (i *Issuer) Sign(claims jwt.MapClaims) (string, error) {
	key := i.newest()
	token := jwt.NewWithClaims(key.method(), claims)
	token.Header["kid"] = key.id
	signed, err := token.SignedString(key.private)
	if err != nil {
		return "", fmt.Errorf("sign a development token: %w", err)
	}
	return signed, nil
}

// Key returns the newest key with the id, for tests that forge tokens.
func (i *Issuer) Key() (id string, private crypto.Signer) {
	key := i.newest()
	return key.id, key.private
}

func (i *Issuer) newest() signingKey {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.keys[len(i.keys)-1]
}

// Handler serves the public keys at JWKSPath.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+JWKSPath, i.serveKeys)
	return mux
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	set, err := i.publicKeys()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/jwk-set+json")
	_ = json.NewEncoder(w).Encode(set) // fails only if the client has gone
}

func (i *Issuer) publicKeys() (jwkset.JWKSMarshal, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	var set jwkset.JWKSMarshal
	for _, key := range i.keys {
		jwk, err := jwkset.NewJWKFromKey(key.private.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{
			KID: key.id, ALG: jwkset.ALG(key.method().Alg()), USE: jwkset.UseSig,
		}})
		if err != nil {
			return set, fmt.Errorf("publish key %s: %w", key.id, err)
		}
		set.Keys = append(set.Keys, jwk.Marshal())
	}
	return set, nil
}

// Serve serves the public keys on a loopback listener until ctx ends.
func (i *Issuer) Serve(ctx context.Context, listener net.Listener) error {
	if addr, ok := listener.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return fmt.Errorf("serve development keys on %v: only loopback is allowed", listener.Addr())
	}
	server := &http.Server{Handler: i.Handler(), ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // the keys are no longer needed
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve development keys: %w", err)
	}
	return nil
}

func generateKey(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case jwt.SigningMethodRS256.Alg():
		return rsa.GenerateKey(rand.Reader, rsaBits)
	case jwt.SigningMethodES256.Alg():
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		return nil, fmt.Errorf("algorithm %q is neither RS256 nor ES256", algorithm)
	}
}

func (k signingKey) method() jwt.SigningMethod {
	if _, ok := k.private.(*ecdsa.PrivateKey); ok {
		return jwt.SigningMethodES256
	}
	return jwt.SigningMethodRS256
}
