package token

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/google/go-cmp/cmp"
)

// jwk is a published key as JSON.
type jwk map[string]any

// with returns the key with a member; nil removes it.
func (k jwk) with(name string, value any) jwk {
	changed := maps.Clone(k)
	changed[name] = value
	if value == nil {
		delete(changed, name)
	}
	return changed
}

// keyOf returns a key for signatures, without alg. A private key is published as such.
func keyOf(t testing.TB, key any) jwk {
	t.Helper()
	made, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{
		Marshal: jwkset.JWKMarshalOptions{Private: true}, Metadata: jwkset.JWKMetadataOptions{KID: "main", USE: jwkset.UseSig},
	})
	if err != nil {
		t.Fatal(err)
	}
	var k jwk
	if err := json.Unmarshal([]byte(jsonOf(t, made.Marshal())), &k); err != nil {
		t.Fatal(err)
	}
	return k.with("alg", nil)
}

func newRSA(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newEC(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publicKeys returns a key of each kind that can be used.
func publicKeys(t testing.TB) (rsaKey, ecKey, edKey jwk) {
	t.Helper()
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return keyOf(t, newRSA(t, 2048).Public()), keyOf(t, newEC(t, elliptic.P256()).Public()), keyOf(t, ed)
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A key without alg stands for one algorithm: what others would do with it is not our
// signature.
func TestUsableKey_HasOneAlgorithm(t *testing.T) {
	t.Parallel()
	rsaKey, ecKey, edKey := publicKeys(t)
	for name, c := range map[string]struct {
		key jwk
		alg string
	}{
		"RSA":           {rsaKey, "RS256"},
		"RSA, RS256":    {rsaKey.with("alg", "RS256"), "RS256"},
		"RSA, PS256":    {rsaKey.with("alg", "PS256"), "PS256"},
		"EC":            {ecKey, "ES256"},
		"EC, ES256":     {ecKey.with("alg", "ES256"), "ES256"},
		"Ed25519":       {edKey, "EdDSA"},
		"its two names": {edKey.with("alg", "Ed25519"), "EdDSA"},
		"without use":   {ecKey.with("use", nil), "ES256"},
		"to verify":     {ecKey.with("key_ops", []string{"verify"}), "ES256"},
		"and to sign":   {ecKey.with("key_ops", []string{"sign", "verify"}), "ES256"},
		"other members": {ecKey.with("x-note", "of the issuer").with("x5u", "https://issuer.example/cert"), "ES256"},
	} {
		key, err := usableKey([]byte(jsonOf(t, c.key)))
		if err != nil || string(key.alg) != c.alg {
			t.Errorf("%s: for %q, %v, want %s", name, key.alg, err, c.alg)
		}
	}
}

func TestUsableKey_RefusesOthers(t *testing.T) {
	t.Parallel()
	rsaKey, ecKey, edKey := publicKeys(t)
	ecPrivate := keyOf(t, newEC(t, elliptic.P256()))
	notOnCurve := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	for name, key := range map[string]any{
		"RSA of 1024 bits":       keyOf(t, weakRSA(1024).Public()),
		"RSA of 2047 bits":       keyOf(t, weakRSA(2047).Public()),
		"RSA of 16384 bits":      keyOf(t, weakRSA(16384).Public()),
		"RSA with exponent 1":    rsaKey.with("e", "AQ"),
		"RSA with exponent 2":    rsaKey.with("e", "Ag"),
		"RSA for encryption":     rsaKey.with("alg", "RSA-OAEP"),
		"RSA for RS512":          rsaKey.with("alg", "RS512"),
		"RSA for HS256":          rsaKey.with("alg", "HS256"),
		"RSA for none":           rsaKey.with("alg", "none"),
		"RSA for ES256":          rsaKey.with("alg", "ES256"),
		"RSA for Ed25519":        rsaKey.with("alg", "Ed25519"),
		"a private RSA key":      keyOf(t, newRSA(t, 2048)),
		"one member of it":       rsaKey.with("dq", "AQAB"),
		"more primes":            rsaKey.with("oth", []jwk{{"r": "AQ", "d": "AQ", "t": "AQ"}}),
		"P-384":                  keyOf(t, newEC(t, elliptic.P384()).Public()),
		"P-521":                  keyOf(t, newEC(t, elliptic.P521()).Public()),
		"secp256k1":              ecKey.with("crv", "secp256k1"),
		"EC not on the curve":    ecKey.with("x", notOnCurve),
		"EC without y":           ecKey.with("y", nil),
		"EC for RS256":           ecKey.with("alg", "RS256"),
		"a private EC key":       ecPrivate,
		"X25519":                 edKey.with("crv", "X25519"),
		"Ed25519 of 31 bytes":    edKey.with("x", strings.Repeat("A", 42)),
		"a symmetric key":        jwk{"kty": "oct", "kid": "main", "k": "c2VjcmV0", "alg": "HS256", "use": "sig"},
		"a key beside k":         ecKey.with("k", "c2VjcmV0"),
		"another kind":           ecKey.with("kty", "LWE"),
		"for encryption":         ecKey.with("use", "enc"),
		"for something else":     ecKey.with("use", "tls"),
		"use as a list":          ecKey.with("use", []string{"sig"}),
		"to sign only":           ecKey.with("key_ops", []string{"sign"}),
		"to encrypt only":        ecKey.with("key_ops", []string{"encrypt", "wrapKey"}),
		"for no operation":       ecKey.with("key_ops", []string{}),
		"operations as a string": ecKey.with("key_ops", "verify"),
		"without kid":            ecKey.with("kid", nil),
		"kid as a number":        ecKey.with("kid", 1),
		"no base64":              ecKey.with("x", "!"),
		"no object":              "main",
		"null":                   nil,
	} {
		if got, err := usableKey([]byte(jsonOf(t, key))); err == nil {
			t.Errorf("%s: usable for %s", name, got.alg)
		}
	}
	if _, err := usableKey([]byte(strings.Replace(jsonOf(t, ecKey), `"kid"`, `"kid":"other","kid"`, 1))); err == nil {
		t.Error("a member twice: usable")
	}
}

// weakRSA returns a key whose modulus has so many bits. Nobody could sign with it.
func weakRSA(bits int) *rsa.PrivateKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}}
}

// unusedMembers are members that decide nothing about a key, with what issuers put there.
var unusedMembers = jwk{
	"x5t":      []any{"QzczNUNGNzFEMzQ0REU0M0MxNEY0N0M5M0FGRDVERjkyQzRBM0UzMg", "", "main", nil, 5},
	"x5t#S256": []any{"MDJlNjIxN2E1OGZlOGVmMGQxOTFlMzBmNmFjZjQ0Y2YwOGY0N2I0YzE4YzZjNjRhYmRmMmQ0ODdiNDhjMGEwMA", nil},
	"x5c":      []any{[]string{"of another key"}, []string{}, "one", nil}, "x5u": []any{"http://issuer.example/cert", "", nil, 5},
	"key_ops": []any{[]string{"verify", "of the issuer"}}, "ext": []any{true}, "exp": []any{1}, "nbf": []any{1493763266}, "iat": []any{"-"},
	"issuer": []any{"https://login.example/{tenantid}/v2.0"}, "cloud_instance_name": []any{"login.example"}, "oth": []any{[]any{}, nil},
	"KID": []any{"other"}, "Use": []any{"enc"}, "ALG": []any{"none"}, "KTY": []any{5}, "K": []any{"c2VjcmV0"}, "D": []any{"AQAB"}, "d": []any{"", nil},
}

// The key is trusted for the address that it comes from. What issuers put into other members
// differs, and some of it is wrong.
func TestUsableKey_IgnoresMembersThatItDoesNotUse(t *testing.T) {
	t.Parallel()
	rsaKey, ecKey, edKey := publicKeys(t)
	for kind, key := range map[string]jwk{"RSA": rsaKey, "EC": ecKey, "OKP": edKey} {
		members := maps.Clone(unusedMembers)
		for _, name := range []string{"crv", "x", "y", "n", "e"} { // those of another kind
			if _, has := key[name]; !has {
				members[name] = []any{"P-256", "!", "", nil, 5}
			}
		}
		for name, values := range members {
			for _, value := range values.([]any) {
				text := strings.Replace(jsonOf(t, key), "{", "{"+jsonOf(t, name)+":"+jsonOf(t, value)+",", 1)
				if found, err := usableKey([]byte(text)); err != nil || found.kid != "main" {
					t.Errorf("%s with %s %v: kid %q, %v", kind, name, value, found.kid, err)
				}
			}
		}
	}
}

func TestUsableKeys_ReturnsTheOthersWithTheirCause(t *testing.T) {
	t.Parallel()
	rsaKey, ecKey, _ := publicKeys(t)
	malformed := ecKey.with("kid", "malformed").with("x", 5)
	keys, unused, err := usableKeys([]byte(jsonOf(t, map[string]any{"keys": []any{
		malformed, rsaKey.with("use", "enc"), nil, ecKey, rsaKey, rsaKey.with("alg", "PS256"), keyOf(t, newRSA(t, 2048)),
		rsaKey.with("alg", "RS512").with("kid", strings.Repeat("k", 1000)), ecKey.with("kid", nil), ecKey.with("alg", 5),
		keyOf(t, weakRSA(1024).Public()), "text",
	}})))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, key := range keys {
		found = append(found, key.kid+" "+string(key.alg))
	}
	if want := []string{"main ES256", "main RS256", "main PS256"}; !slices.Equal(found, want) {
		t.Errorf("keys %v, want %v", found, want)
	}
	if diff := cmp.Diff([]UnusedKey{
		{"malformed", "its key material cannot be read"}, {"main", "its use or key_ops excludes verifying"}, {"", "it has no kid"},
		{"main", "it has a private member"},
		{strings.Repeat("k", maxKID), "its kty, crv and alg do not stand for RS256, PS256, ES256 or EdDSA"}, {"", "it has no kid"},
		{"main", "kty, kid, use, key_ops or alg has the wrong type, or a member is repeated"},
		{"main", "its modulus has not between 2048 and 8192 bits, or its exponent is weak"},
		{"", "kty, kid, use, key_ops or alg has the wrong type, or a member is repeated"},
	}, unused); diff != "" {
		t.Errorf("unused keys (-want +got):\n%s", diff)
	}
}

func TestUsableKeys_RefusesASetWithoutAny(t *testing.T) {
	t.Parallel()
	_, ecKey, _ := publicKeys(t)
	var many []jwk
	for range maxKeys + 1 {
		many = append(many, ecKey)
	}
	for name, set := range map[string]string{
		"nothing":         "",
		"HTML":            "<html>maintenance</html>",
		"null":            "null",
		"an empty object": "{}",
		"an empty set":    `{"keys": []}`,
		"keys are null":   `{"keys": null}`,
		"keys are one":    jsonOf(t, map[string]any{"keys": ecKey}),
		"a list":          jsonOf(t, []jwk{ecKey}),
		"a key":           jsonOf(t, ecKey),
		"another case":    jsonOf(t, map[string]any{"Keys": []jwk{ecKey}}),
		"half a set":      jsonOf(t, map[string]any{"keys": []jwk{ecKey}})[:100],
		"unusable ones":   jsonOf(t, map[string]any{"keys": []jwk{ecKey.with("use", "enc"), ecKey.with("x", 1)}}),
		"too many":        jsonOf(t, map[string]any{"keys": many}),
	} {
		if keys, _, err := usableKeys([]byte(set)); err == nil {
			t.Errorf("%s: %d keys, want an error", name, len(keys))
		}
	}
}
