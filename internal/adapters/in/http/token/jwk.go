package token

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/MicahParks/jwkset"

	"example.com/orders/internal/adapters/in/http/strictjson"
)

const (
	// maxKeys is how many keys an issuer may publish.
	maxKeys = 100
	// minRSA and maxRSA bound an RSA key's bits. A larger one is slow to use.
	minRSA = 2048
	maxRSA = 8192
)

// usableKeys returns the keys in a JWK set (RFC 7517) that can verify tokens, at least
// one. It skips the others. If two keys have one kid, the first one counts.
func usableKeys(set []byte) ([]jwkset.JWK, error) {
	var published struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(set, &published); err != nil {
		return nil, errors.New("the response is not a JWK set") // err may quote it
	}
	if len(published.Keys) > maxKeys {
		return nil, fmt.Errorf("the JWK set has more than %d keys", maxKeys)
	}
	var keys []jwkset.JWK
	taken := map[string]bool{}
	for _, text := range published.Keys {
		key, ok := usableKey(text)
		if kid := key.Marshal().KID; ok && !taken[kid] {
			taken[kid] = true
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("none of the %d keys in the JWK set can verify tokens", len(published.Keys))
	}
	return keys, nil
}

// usableKey parses a key. It reports whether the key can be read and may verify tokens.
func usableKey(text []byte) (jwkset.JWK, bool) {
	var published jwkset.JWKMarshal
	if !strictjson.IsValid(text) || json.Unmarshal(text, &published) != nil || !mayVerify(published) {
		return jwkset.JWK{}, false
	}
	possible := algorithms(published)
	if published.ALG == "Ed25519" {
		published.ALG = jwkset.AlgEdDSA // the library knows the older name only
	}
	if published.ALG == "" && len(possible) > 0 {
		published.ALG = possible[0]
	}
	if !slices.Contains(possible, published.ALG) {
		return jwkset.JWK{}, false
	}
	key, err := jwkset.NewJWKFromMarshal(published, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return jwkset.JWK{}, false
	}
	rsaKey, isRSA := key.Key().(*rsa.PublicKey)
	return key, !isRSA || isSafeRSA(rsaKey)
}

// mayVerify reports whether a key is a named public key that is for signatures. A
// private key that is published is everybody's.
func mayVerify(k jwkset.JWKMarshal) bool {
	private := k.D + k.P + k.Q + k.DP + k.DQ + k.QI + k.K
	return k.KID != "" && private == "" && len(k.OTH) == 0 &&
		(k.USE == "" || k.USE == jwkset.UseSig) &&
		(k.KEYOPS == nil || slices.Contains(k.KEYOPS, jwkset.KeyOpsVerify))
}

// algorithms returns the algorithms that a key can verify. A key without alg stands for
// the first one only: a key that two algorithms share is weaker than either needs.
func algorithms(k jwkset.JWKMarshal) []jwkset.ALG {
	switch {
	case k.KTY == jwkset.KtyRSA:
		return []jwkset.ALG{jwkset.AlgRS256, jwkset.AlgPS256}
	case k.KTY == jwkset.KtyEC && k.CRV == jwkset.CrvP256:
		return []jwkset.ALG{jwkset.AlgES256}
	case k.KTY == jwkset.KtyOKP && k.CRV == jwkset.CrvEd25519:
		return []jwkset.ALG{jwkset.AlgEdDSA}
	}
	return nil
}

func isSafeRSA(key *rsa.PublicKey) bool {
	bits := key.N.BitLen()
	return bits >= minRSA && bits <= maxRSA && key.E >= 3 && key.E%2 == 1
}
