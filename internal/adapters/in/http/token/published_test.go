package token

import (
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// publishedSet is a key set with the members that an issuer publishes, in its order, and
// keys of ours in the place of its own: ${rsa1} stands for a modulus, ${x5c1} and the like
// for a certificate and its thumbprints.
type publishedSet struct {
	set string
	// kids are the keys that must verify tokens: kid, algorithm and key.
	kids []string
	// unused is how many keys are for something else.
	unused int
}

// publishedSets has a set for each issuer on docs/issuers.md, and sets of other issuers
// that differ from those.
var publishedSets = map[string]publishedSet{
	"Keycloak": {`{"keys":[
		{"kid":"sig1","kty":"RSA","alg":"RS256","use":"sig","x5c":["${x5c1}"],"x5t":"${x5t1}","x5t#S256":"${s2561}","n":"${rsa1}","e":"AQAB"},
		{"kid":"enc1","kty":"RSA","alg":"RSA-OAEP","use":"enc","x5c":["${x5c2}"],"x5t":"${x5t2}","x5t#S256":"${s2562}","n":"${rsa2}","e":"AQAB"},
		{"kid":"ed1","kty":"OKP","alg":"EdDSA","use":"sig","crv":"Ed25519","x":"${ed}"},
		{"kid":"ec1","kty":"EC","alg":"ES256","use":"sig","crv":"P-256","x":"${x}","y":"${y}"}]}`,
		[]string{"sig1 RS256 rsa1", "ed1 EdDSA ed", "ec1 ES256 ec"}, 1},
	"Auth0": {`{"keys":[
		{"kty":"RSA","use":"sig","n":"${rsa1}","e":"AQAB","kid":"${hex1}","x5t":"${hex1}","x5c":["${x5c1}"],"alg":"RS256"},
		{"kty":"RSA","use":"sig","n":"${rsa2}","e":"AQAB","kid":"9nyY64qWLbKgyz5rwnKFK","x5t":"${x5t2}","x5c":["${x5c2}"],"alg":"RS256"}]}`,
		[]string{"${hex1} RS256 rsa1", "9nyY64qWLbKgyz5rwnKFK RS256 rsa2"}, 0},
	"Entra": {`{"keys":[
		{"kty":"RSA","use":"sig","kid":"${x5t1}","x5t":"${x5t1}","n":"${rsa1}","e":"AQAB","x5c":["${x5c1}"],
		 "cloud_instance_name":"microsoftonline.com","issuer":"https://login.microsoftonline.com/{tenantid}/v2.0"},
		{"kty":"RSA","use":"sig","kid":"${x5t2}","x5t":"${x5t2}","n":"${rsa2}","e":"AQAB","x5c":["${x5c2}"],
		 "cloud_instance_name":"microsoftonline.com","issuer":"https://login.microsoftonline.com/9122040d/v2.0"}]}`,
		[]string{"${x5t1} RS256 rsa1", "${x5t2} RS256 rsa2"}, 0},
	"Okta": {`{"keys":[
		{"kty":"RSA","alg":"RS256","kid":"w4pgKwWgjd5kVTSMsqJgbQ","use":"sig","e":"AQAB","n":"${rsa1}"},
		{"kty":"RSA","alg":"RS256","kid":"next","use":"sig","e":"AQAB","n":"${rsa2}"}]}`,
		[]string{"w4pgKwWgjd5kVTSMsqJgbQ RS256 rsa1", "next RS256 rsa2"}, 0},
	"Cognito": {`{"keys":[
		{"alg":"RS256","e":"AQAB","kid":"1FGKvpIbIHIl+8iMQOup5GC6lmz/rux6rDGNjckNGHg=","kty":"RSA","n":"${rsa1}","use":"sig"},
		{"alg":"RS256","e":"AQAB","kid":"tSrnznQTMektJQcw80oW1SZYg/mOrDTGc0m1TbRnJvE=","kty":"RSA","n":"${rsa2}","use":"sig"}]}`,
		[]string{"1FGKvpIbIHIl+8iMQOup5GC6lmz/rux6rDGNjckNGHg= RS256 rsa1", "tSrnznQTMektJQcw80oW1SZYg/mOrDTGc0m1TbRnJvE= RS256 rsa2"}, 0},
	"ZITADEL": {`{"keys":[
		{"use":"sig","kty":"RSA","kid":"286467089364271107","alg":"RS256","n":"${rsa1}","e":"AQAB"},
		{"use":"sig","kty":"EC","kid":"286467089364271108","crv":"P-256","alg":"ES256","x":"${x}","y":"${y}"},
		{"use":"sig","kty":"OKP","kid":"286467089364271109","crv":"Ed25519","alg":"EdDSA","x":"${ed}"},
		{"use":"sig","kty":"RSA","kid":"286467089364271110","alg":"RS512","n":"${rsa2}","e":"AQAB"}]}`,
		[]string{"286467089364271107 RS256 rsa1", "286467089364271108 ES256 ec", "286467089364271109 EdDSA ed"}, 1},
	"Firebase": {`{"keys":[
		{"kid":"e197bf2e87bd1905575f9b6e5eb426eda5d574e3","n":"${rsa1}","e":"AQAB","kty":"RSA","alg":"RS256","use":"sig"},
		{"alg":"RS256","e":"AQAB","n":"${rsa2}","use":"sig","kid":"6adc101cc7498c09c010dc3d5176fa97c9627ecb","kty":"RSA"}]}`,
		[]string{"e197bf2e87bd1905575f9b6e5eb426eda5d574e3 RS256 rsa1", "6adc101cc7498c09c010dc3d5176fa97c9627ecb RS256 rsa2"}, 0},
	"Supabase": {`{"keys":[
		{"alg":"ES256","crv":"P-256","ext":true,"key_ops":["verify"],"kid":"3f1c0b52-98a6-4f2c-8c57-0b6d1b5d0f7a","kty":"EC","x":"${x}","y":"${y}"},
		{"alg":"RS256","e":"AQAB","ext":true,"key_ops":["verify"],"kid":"standby","kty":"RSA","n":"${rsa1}"}]}`,
		[]string{"3f1c0b52-98a6-4f2c-8c57-0b6d1b5d0f7a ES256 ec", "standby RS256 rsa1"}, 0},
	"oidc-provider": {`{"keys":[
		{"kty":"RSA","use":"sig","kid":"r1LkbBo3925Rb2ZFFrKyU3MVex9T2817Kx0vbi6i_Kc","e":"AQAB","n":"${rsa1}"},
		{"kty":"EC","use":"sig","kid":"ec","crv":"P-256","x":"${x}","y":"${y}"},
		{"kty":"OKP","use":"sig","kid":"ed","alg":"Ed25519","crv":"Ed25519","x":"${ed}"},
		{"kty":"RSA","use":"enc","kid":"enc","e":"AQAB","n":"${rsa2}"}]}`,
		[]string{"r1LkbBo3925Rb2ZFFrKyU3MVex9T2817Kx0vbi6i_Kc RS256 rsa1", "ec ES256 ec", "ed Ed25519 ed"}, 1},
	"Clerk": {`{"keys":[{"use":"sig","kty":"RSA","kid":"ins_2d0q","alg":"RS256","n":"${rsa1}","e":"AQAB"}]}`,
		[]string{"ins_2d0q RS256 rsa1"}, 0},
	"PingAM, which shows every algorithm of a key": {`{"keys":[
		{"kty":"RSA","kid":"wU3ifIIaLOUAReRB/FG6eM1P1QM=","use":"sig","x5t":"${x5t1}","x5c":["${x5c1}"],"n":"${rsa1}","e":"AQAB","alg":"RS512"},
		{"kty":"RSA","kid":"wU3ifIIaLOUAReRB/FG6eM1P1QM=","use":"sig","x5t":"${x5t1}","x5c":["${x5c1}"],"n":"${rsa1}","e":"AQAB","alg":"RS256"},
		{"kty":"RSA","kid":"wU3ifIIaLOUAReRB/FG6eM1P1QM=","use":"sig","x5t":"${x5t1}","x5c":["${x5c1}"],"n":"${rsa1}","e":"AQAB","alg":"PS256"},
		{"kty":"RSA","kid":"wU3ifIIaLOUAReRB/FG6eM1P1QM=","use":"enc","x5t":"${x5t1}","x5c":["${x5c1}"],"n":"${rsa1}","e":"AQAB","alg":"RSA-OAEP-256"}]}`,
		[]string{"wU3ifIIaLOUAReRB/FG6eM1P1QM= RS256 rsa1", "wU3ifIIaLOUAReRB/FG6eM1P1QM= PS256 rsa1"}, 2},
	"FusionAuth": {`{"keys":[{"alg":"RS256","e":"AQAB","kid":"${x5t1}","kty":"RSA","n":"${rsa1}","use":"sig","x5c":["${x5c1}"],"x5t":"${x5t1}","x5t#S256":"${s2561}"}]}`,
		[]string{"${x5t1} RS256 rsa1"}, 0},
	"WSO2, with the hexadecimal SHA-256": {`{"keys":[{"kty":"RSA","x5t#S256":"${hex2561}","e":"AQAB","use":"sig","kid":"${hex2561}_RS256","x5c":["${x5c1}"],"key_ops":["verify"],"alg":"RS256","n":"${rsa1}"}]}`,
		[]string{"${hex2561}_RS256 RS256 rsa1"}, 0},
	"WorkOS, with the thumbprint of another certificate": {`{"keys":[{"alg":"RS256","kty":"RSA","use":"sig","n":"${rsa1}","e":"AQAB","kid":"sso_oidc_key_pair_01","x5c":["${x5c1}"],"x5t#S256":"${s2562}"}]}`,
		[]string{"sso_oidc_key_pair_01 RS256 rsa1"}, 0},
	"Azure AD B2C": {`{"keys":[{"kid":"X5eXk4xyojNFum1kl2Ytv8dlNP4-c57dO6QGTVBwaNk","nbf":1493763266,"use":"sig","kty":"RSA","e":"AQAB","n":"${rsa1}"}]}`,
		[]string{"X5eXk4xyojNFum1kl2Ytv8dlNP4-c57dO6QGTVBwaNk RS256 rsa1"}, 0},
	"SuperTokens, whose modulus begins with a zero byte": {`{"keys":[{"kty":"RSA","kid":"s-2de612a5","n":"${rsa1signed}","e":"AQAB","alg":"RS256","use":"sig"}]}`,
		[]string{"s-2de612a5 RS256 rsa1"}, 0},
	"one kid for both kinds, encryption first": {`{"keys":[
		{"kid":"key/a","kty":"RSA","alg":"RSA-OAEP","use":"enc","n":"${rsa2}","e":"AQAB"},
		{"kid":"key/a","kty":"RSA","alg":"RS256","use":"sig","n":"${rsa1}","e":"AQAB"},
		{"kid":"key/a","kty":"EC","alg":"ES256","use":"sig","crv":"P-256","x":"${x}","y":"${y}"}]}`,
		[]string{"key/a RS256 rsa1", "key/a ES256 ec"}, 1},
	"one kid and one algorithm for two keys": {`{"keys":[
		{"kid":"main","kty":"RSA","n":"${rsa1}","e":"AQAB"}, {"kid":"main","kty":"RSA","alg":"RS256","n":"${rsa2}","e":"AQAB"}]}`,
		[]string{"main RS256 rsa1", "main RS256 rsa2"}, 0},
}

// published are our keys, and what stands for them in a set.
type published struct {
	keys   map[string]crypto.Signer
	values map[string]string
}

func newPublished(t *testing.T) published {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec := newEC(t, elliptic.P256())
	encode := base64.RawURLEncoding.EncodeToString
	p := published{keys: map[string]crypto.Signer{"ed": ed, "ec": ec}, values: map[string]string{"ed": encode(ed[32:])}}
	for _, name := range []string{"x", "y"} {
		p.values[name], _ = keyOf(t, ec.Public())[name].(string)
	}
	for _, i := range []string{"1", "2"} {
		key := newRSA(t, 2048)
		certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "shop.eu.issuer.example"},
		}, &x509.Certificate{}, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		short, long := sha1.Sum(certificate), sha256.Sum256(certificate)
		p.keys["rsa"+i] = key
		maps.Copy(p.values, map[string]string{
			"rsa" + i: encode(key.N.Bytes()), "rsa" + i + "signed": encode(append([]byte{0}, key.N.Bytes()...)),
			"x5c" + i: base64.StdEncoding.EncodeToString(certificate), "x5t" + i: encode(short[:]), "s256" + i: encode(long[:]),
			"hex" + i: encode(fmt.Appendf(nil, "%X", short)), "hex256" + i: encode(fmt.Appendf(nil, "%x", long)),
		})
	}
	return p
}

func (p published) fill(text string) string {
	return os.Expand(text, func(name string) string { return p.values[name] })
}

func TestVerifier_AcceptsTokensOfPublishedKeySets(t *testing.T) {
	t.Parallel()
	keys, clock := newPublished(t), &testClock{}
	for name, c := range publishedSets {
		issuer := newTestIssuer(t)
		issuer.answerWith(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(keys.fill(c.set))) })
		v, _ := newTestVerifier(t, issuer, clock)
		for _, kid := range c.kids {
			words := strings.Fields(keys.fill(kid))
			token := signed(t, jwt.GetSigningMethod(words[1]), keys.keys[words[2]], fields{"alg": words[1], "kid": words[0]}, nil)
			if err := send(v, token); err != nil {
				t.Errorf("%s: %s: %v", name, kid, err)
			}
			strange := signed(t, jwt.SigningMethodES256, newEC(t, elliptic.P256()), fields{"alg": words[1], "kid": words[0]}, nil)
			if err := send(v, strange); err == nil {
				t.Errorf("%s: %s: a stranger's token is accepted", name, kid)
			}
		}
		usable, unused, err := usableKeys([]byte(keys.fill(c.set)))
		if err != nil || len(usable) != len(c.kids) || len(unused) != c.unused {
			t.Errorf("%s: %d usable keys and %d others, %v, want %d and %d", name, len(usable), len(unused), err, len(c.kids), c.unused)
		}
	}
}

func TestPublishedSets_CoverThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "docs", "issuers.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| \[([^\]]+)\]\(`).FindAllStringSubmatch(string(page), -1)
	lacks := func(row []string) bool { return publishedSets[row[1]].set == "" }
	if i := slices.IndexFunc(rows, lacks); len(rows) == 0 || i >= 0 {
		t.Errorf("%d issuers on the page; one without a set: %d", len(rows), i)
	}
}
