package token

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/MicahParks/jwkset"

	"example.com/orders/internal/strictjson"
)

const (
	// maxKeys is how many keys an issuer may publish.
	maxKeys = 100
	// minRSA and maxRSA bound an RSA key's bits. A larger one is slow to use.
	minRSA = 2048
	maxRSA = 8192
	// maxKID is how much of a kid is logged.
	maxKID = 255
)

// keyName is what a token says about the key that signed it.
type keyName struct {
	kid string
	alg jwkset.ALG
}

// publicKey is a key that verifies the tokens with the same name.
type publicKey struct {
	keyName

	jwk jwkset.JWK
}

// UnusedKey is a published key that verifies no token.
type UnusedKey struct{ KID, Cause string }

// usableKeys returns the keys in a JWK set (RFC 7517) that can verify tokens, at least
// one, and the others. Keys may share a kid, as RFC 7517, section 4.5, allows.
func usableKeys(set []byte) ([]publicKey, []UnusedKey, error) {
	var published map[string]json.RawMessage
	var texts []json.RawMessage
	if json.Unmarshal(set, &published) != nil || json.Unmarshal(published["keys"], &texts) != nil {
		return nil, nil, errors.New("the response is not a JWK set") // the library's error may quote it
	}
	if len(texts) > maxKeys {
		return nil, nil, fmt.Errorf("the JWK set has more than %d keys", maxKeys)
	}
	var keys []publicKey
	var unused []UnusedKey
	for _, text := range texts {
		key, err := usableKey(text)
		if err != nil {
			unused = append(unused, UnusedKey{KID: key.kid[:min(len(key.kid), maxKID)], Cause: err.Error()})
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, unused, fmt.Errorf("none of the %d keys in the JWK set can verify tokens", len(texts))
	}
	return keys, unused, nil
}

// usableKey parses a key, or returns why it verifies no token. In both cases the kid is
// returned if it can be read.
func usableKey(text []byte) (publicKey, error) {
	published, err := strictjson.Decode[keyMembers](text)
	if err != nil {
		named, _ := strictjson.Decode[struct {
			KID string `json:"kid"`
		}](text)
		return publicKey{keyName: keyName{kid: named.KID}},
			errors.New("kty, kid, use, key_ops or alg has the wrong type, or a member is repeated")
	}
	key := publicKey{keyName: keyName{kid: published.KID}}
	switch {
	case published.KID == "":
		return key, errors.New("it has no kid")
	case published.isPrivate():
		return key, errors.New("it has a private member")
	case !published.isForSignatures():
		return key, errors.New("its use or key_ops excludes verifying")
	}
	if key.alg = published.algorithm(); key.alg == "" {
		return key, errors.New("its kty, crv and alg do not stand for RS256, PS256, ES256 or EdDSA")
	}
	if key.jwk, err = published.material(); err != nil {
		return key, errors.New("its key material cannot be read") // the library's error may quote it
	}
	if rsaKey, isRSA := key.jwk.Key().(*rsa.PublicKey); isRSA && !isSafeRSA(rsaKey) {
		return key, fmt.Errorf("its modulus has not between %d and %d bits, or its exponent is weak",
			minRSA, maxRSA)
	}
	return key, nil
}

// keyMembers are the members that decide about a key. The rest is ignored: the key is
// trusted for the address that it comes from, and issuers fill the rest in their own
// ways. The x5t of Auth0, for one, is not the thumbprint that the library compares.
type keyMembers struct {
	KTY    jwkset.KTY `json:"kty"`
	KID    string     `json:"kid"`
	Use    string     `json:"use"`
	KeyOps []string   `json:"key_ops"`
	Alg    jwkset.ALG `json:"alg"`
	// The public key. Of these, only the members of the kind are read.
	CRV any `json:"crv"`
	X   any `json:"x"`
	Y   any `json:"y"`
	N   any `json:"n"`
	E   any `json:"e"`
	// The private key.
	D   any   `json:"d"`
	P   any   `json:"p"`
	Q   any   `json:"q"`
	DP  any   `json:"dp"`
	DQ  any   `json:"dq"`
	QI  any   `json:"qi"`
	K   any   `json:"k"`
	Oth []any `json:"oth"`
}

// isPrivate reports whether a key has a private member. A private key that is published
// is compromised.
func (m keyMembers) isPrivate() bool {
	private := []any{m.D, m.P, m.Q, m.DP, m.DQ, m.QI, m.K}
	isSet := func(value any) bool { return value != nil && value != "" }
	return len(m.Oth) > 0 || slices.ContainsFunc(private, isSet)
}

func (m keyMembers) isForSignatures() bool {
	signs := m.Use == "" || m.Use == "sig"
	verifies := m.KeyOps == nil || slices.Contains(m.KeyOps, "verify")
	return signs && verifies
}

// algorithm returns the one algorithm that a key verifies, or "". A key that lacks alg
// stands for the first one of the kind only: a key that two algorithms share is weaker
// than either needs.
func (m keyMembers) algorithm() jwkset.ALG {
	var possible []jwkset.ALG
	switch {
	case m.KTY == jwkset.KtyRSA:
		possible = []jwkset.ALG{jwkset.AlgRS256, jwkset.AlgPS256}
	case m.KTY == jwkset.KtyEC && m.CRV == "P-256":
		possible = []jwkset.ALG{jwkset.AlgES256}
	case m.KTY == jwkset.KtyOKP && m.CRV == "Ed25519":
		possible = []jwkset.ALG{jwkset.AlgEdDSA, "Ed25519"} // two names (RFC 9864)
	}
	switch {
	case len(possible) == 0:
		return ""
	case m.Alg == "":
		return possible[0]
	case !slices.Contains(possible, m.Alg):
		return ""
	case m.KTY == jwkset.KtyOKP:
		return possible[0]
	}
	return m.Alg
}

func (m keyMembers) material() (jwkset.JWK, error) {
	text := func(value any) string {
		text, _ := value.(string)
		return text
	}
	public := jwkset.JWKMarshal{
		KTY: m.KTY, CRV: jwkset.CRV(text(m.CRV)), X: text(m.X), Y: text(m.Y), N: text(m.N), E: text(m.E),
	}
	return jwkset.NewJWKFromMarshal(public, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
}

func isSafeRSA(key *rsa.PublicKey) bool {
	bits := key.N.BitLen()
	return bits >= minRSA && bits <= maxRSA && key.E >= 3 && key.E%2 == 1
}
