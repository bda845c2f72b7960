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
	// Name is the "iss" of development tokens unless configured otherwise.
	Name = "https://orders.localhost/development-issuer"
	// Audience is their "aud".
	Audience = "orders"
	// JWKSPath is where the public keys are served.
	JWKSPath = "/.well-known/jwks.json"

	rsaBits = 2048
)

// Config says what an issuer writes into its tokens and where its keys are kept.
type Config struct {
	// Dir keeps the private keys over restarts, readable by their owner only. Empty keeps them in memory.
	Dir string
	// Name and Audience default to Name and Audience.
	Name, Audience string
	// Algorithm of new keys: RS256 (the default) or ES256.
	Algorithm string
}

// Issuer signs access tokens for whoever asks and publishes the keys to verify them. It is for development and tests
// ONLY: it authenticates nobody.
type Issuer struct {
	cfg  Config
	mu   sync.RWMutex
	keys []signingKey // oldest first; the last one signs
}

type signingKey struct {
	id      string
	private crypto.Signer
	file    string // empty when the key is in memory only
}

// New opens the keys of cfg.Dir, or makes the first one.
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

// Rotate adds a new key that signs from now on. Older keys stay published until Retire.
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

// Retire forgets all keys but the newest, so that tokens signed with them are no longer accepted.
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

// Token signs an access token for sub with the given roles, valid from now on.
func (i *Issuer) Token(sub string, roles []string, ttl time.Duration) (string, error) {
	return i.Sign(i.Claims(sub, roles, ttl))
}

// Claims are those of Token, to be changed by a test before Sign.
func (i *Issuer) Claims(sub string, roles []string, ttl time.Duration) jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{
		"iss": i.cfg.Name, "aud": i.cfg.Audience, "sub": sub, "roles": roles,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(ttl).Unix(), "jti": rand.Text(),
	}
}

// Sign signs any claims with the newest key.
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

// Key is the newest key and its id, for tests that sign by themselves what no honest issuer would.
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
	_ = json.NewEncoder(w).Encode(set) // the client that hung up does not want to know
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

// Serve answers on listener, which has to be a loopback one, until ctx ends.
func (i *Issuer) Serve(ctx context.Context, listener net.Listener) error {
	if addr, ok := listener.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return fmt.Errorf("serve development keys on %v: only loopback is allowed", listener.Addr())
	}
	server := &http.Server{Handler: i.Handler(), ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // nobody waits for keys at the end
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
