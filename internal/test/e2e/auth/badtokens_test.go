package auth_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
)

// withoutToken is the detail for a request without a token.
const withoutToken = "send a bearer token in the Authorization header"

// badTokens returns tokens that prove nothing, by kind and name. They are made when it is
// their turn, because some become valid, and some expire.
var badTokens = map[string]func(t *testing.T, good forge, signers map[string]signer) map[string]string{
	"structure": structureTokens,
	"JSON":      ambiguousTokens,
	"header":    headerTokens,
	"algorithm": algTokens,
	"signature": signatureTokens,
	"claim":     claimTokens,
}

func TestTokens_BadOnesAreRefused(t *testing.T) {
	t.Parallel()
	s, signers := startWithSigners(t)
	good := honest(s.Env).by(signers["ES256"])
	for kind, tokens := range badTokens {
		for name, token := range tokens(t, good, signers) {
			t.Run(kind+": "+name, func(t *testing.T) {
				// The good token is remembered until one names an unknown key. It must not help the bad one.
				s.MustSend(t, balanceCall(good.token(t)))
				if detail := checkUnauthenticated(t, s, balanceCall(token)); detail == withoutToken && token != "" {
					t.Error("the token counts as missing")
				}
			})
		}
	}
	for name, call := range badTransports(t, good) {
		t.Run("transport: "+name, func(t *testing.T) { checkUnauthenticated(t, s, call) })
	}
}

func structureTokens(t *testing.T, good forge, _ map[string]signer) map[string]string {
	t.Helper()
	signed := good.token(t)
	parts := strings.Split(signed, ".")
	header, claims := text(t, good.header), text(t, good.claims)
	return map[string]string{
		"a word":                 "x",
		"dots":                   "..",
		"two parts":              parts[0] + "." + parts[1],
		"four parts":             signed + ".x",
		"five parts":             "a.b.c.d.e",
		"a dot before":           "." + signed,
		"no header":              "." + parts[1] + "." + parts[2],
		"no claims":              parts[0] + ".." + parts[2],
		"JSON serialisation":     fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, parts[1], parts[0], parts[2]),
		"in quotes":              `"` + signed + `"`,
		"a space within":         parts[0] + ". " + parts[1] + "." + parts[2],
		"padded":                 parts[0] + "=." + parts[1] + "." + parts[2] + "==",
		"claims in base64 twice": good.sign(t, header, encode(claims)),
		"claims in plain text":   parts[0] + "." + claims + "." + parts[2],
		"9 KB":                   good.with("x", strings.Repeat("x", 9<<10)).token(t),
		"8 KB of dots":           strings.Repeat(".", 8<<10),
	}
}

// ambiguousTokens returns tokens whose JSON parsers read differently.
func ambiguousTokens(t *testing.T, good forge, _ map[string]signer) map[string]string {
	t.Helper()
	header, claims := text(t, good.header), text(t, good.claims)
	tokens := map[string]string{
		"alg twice":               good.sign(t, strings.Replace(header, `"alg"`, `"alg":"none","alg"`, 1), claims),
		"kid twice":               good.sign(t, strings.Replace(header, `"kid"`, `"kid":"other","kid"`, 1), claims),
		"a header that is a list": good.sign(t, "["+header+"]", claims),
		"a header that is null":   good.sign(t, "null", claims),
		"an empty header":         good.sign(t, "{}", claims),
	}
	for _, spoilt := range []string{
		"alice", "[" + claims + "]", "null", `"alice"`, "", "\x00", claims + "\x00", claims + "{}", claims[:len(claims)-1] + ",}",
		"/* */" + claims, "\ufeff" + claims, "\xff\xfe{\x00}\x00", claims[:len(claims)/2],
		strings.Replace(claims, `"sub"`, `"x":NaN,"sub"`, 1),
		strings.Replace(claims, `"alice"`, "\"alice\xff\"", 1),
		strings.Replace(claims, `"alice"`, `"alice\ud800"`, 1),
		strings.Replace(claims, `"sub"`, `"sub":"bob","sub"`, 1),
		strings.Replace(claims, `"sub"`, `"s\u0075b":"bob","sub"`, 1),
		strings.Replace(claims, `"exp"`, `"exp":1,"exp"`, 1),
		strings.Replace(claims, `"roles"`, `"roles":["admin"],"roles"`, 1),
		strings.Replace(claims, `"sub"`, `"x":[{"a":1,"a":2}],"sub"`, 1),
	} {
		if spoilt == claims {
			t.Fatal("the claims are not spoilt")
		}
		tokens[fmt.Sprintf("%.60q", spoilt)] = good.sign(t, header, spoilt)
	}
	return tokens
}

// badHeaders are values of header members with which no token is accepted; nil removes
// the member.
var badHeaders = map[string][]any{
	"alg":  {nil, []string{"ES256"}, 256, "none", "es256", "ES384", "ES256K", "RS256", "PS256", "EdDSA", "HS256"},
	"kid":  {nil, "", 1, []string{"ES256"}, map[string]string{"kid": "ES256"}, true, "nobody", "ES256 ", "es256", "ES256\x00", "RS256"},
	"crit": {[]string{"exp"}, []string{"b64"}, []string{}},
	"typ": {
		"", "JWE", "ID", "id+jwt", "logout+jwt", "dpop+jwt", "application/", "application/logout+jwt", "text/JWT",
		"application/application/JWT", "at+jwt;v=1", " JWT", "JWT,at+jwt", 1, true, []string{"JWT"},
	},
}

func headerTokens(t *testing.T, good forge, _ map[string]signer) map[string]string {
	t.Helper()
	tokens := map[string]string{}
	for name, values := range badHeaders {
		for _, value := range values {
			tokens[fmt.Sprintf("%s %q", name, fmt.Sprint(value))] = good.withHeader(name, value).token(t)
		}
		null := fmt.Sprintf(`{"alg":"ES256","kid":"ES256",%q:null}`, name)
		tokens[name+" null"] = good.sign(t, null, text(t, good.claims))
	}
	// A token neither brings its key nor says where the key is.
	stranger := good.signedBy(jwt.SigningMethodES256, signingKey(t))
	own := publicJWK(t, stranger.public(), "own", "ES256", "sig")
	tokens["jwk"] = stranger.withHeader("jwk", own).token(t)
	tokens["jwk and its kid"] = stranger.withHeader("jwk", own).withHeader("kid", "own").token(t)
	thief, key, _ := startThief(t)
	for _, name := range []string{"jku", "x5u"} {
		tokens[name] = good.by(key).withHeader(name, thief).token(t)
		tokens[name+" with a known kid"] = good.by(key).withHeader("kid", "ES256").withHeader(name, thief).token(t)
	}
	for _, kid := range []string{"../../../../../../dev/null", "file:///tmp/ES256", thief, "x' UNION SELECT '' --"} {
		tokens["kid "+kid] = good.signedBy(jwt.SigningMethodHS256, []byte{}).withHeader("kid", kid).token(t)
		tokens["kid "+kid+" of a stranger"] = stranger.withHeader("kid", kid).token(t)
	}
	return tokens
}

func algTokens(t *testing.T, good forge, signers map[string]signer) map[string]string {
	t.Helper()
	tokens := map[string]string{
		"none, by the library": good.signedBy(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType).token(t),
	}
	for _, alg := range []string{"none", "None", ""} {
		tokens["unsigned as "+alg] = encode(text(t, good.withHeader("alg", alg).header)) + "." + encode(text(t, good.claims)) + "."
	}
	rs := signers["RS256"]
	for _, method := range []jwt.SigningMethod{jwt.SigningMethodRS384, jwt.SigningMethodRS512, jwt.SigningMethodPS256} {
		tokens[method.Alg()+" by the key of RS256"] = good.by(rs).signedBy(method, rs.key).token(t)
	}
	// A careless service would take a public key as the secret of an HMAC.
	public := rs.key.Public().(*rsa.PublicKey)
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string][]byte{
		"the PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "the DER": der, "the modulus": public.N.Bytes(),
		"the JWK": []byte(text(t, rs.jwk(t))), "nothing": {},
	} {
		tokens["HS256 with "+name] = good.by(rs).signedBy(jwt.SigningMethodHS256, secret).token(t)
	}
	return tokens
}

func signatureTokens(t *testing.T, good forge, signers map[string]signer) map[string]string {
	t.Helper()
	token := good.token(t)
	parts := strings.Split(token, ".")
	signed, encoded := cutSignature(token)
	signature := string(decode(t, encoded))
	hash := sha256.Sum256([]byte(strings.TrimSuffix(signed, ".")))
	der, err := ecdsa.SignASN1(rand.Reader, signers["ES256"].key.(*ecdsa.PrivateKey), hash[:])
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{
		"unused bits set":   token[:len(token)-1] + nextLetter(token[len(token)-1]),
		"of other claims":   parts[0] + "." + encode(text(t, good.with("roles", []string{"admin"}).claims)) + "." + parts[2],
		"of another header": encode(text(t, good.withHeader("x", 1).header)) + "." + parts[1] + "." + parts[2],
		"by a stranger":     good.signedBy(jwt.SigningMethodES256, signingKey(t)).token(t),
	}
	for name, other := range map[string]string{
		"none": "", "half": signature[:32], "a byte less": signature[:63], "a byte before": "\x00" + signature, "twice": signature + signature,
		"DER": string(der), "r and s zero": strings.Repeat("\x00", 64), "s zero": signature[:32] + strings.Repeat("\x00", 32),
		"r and s too large": strings.Repeat("\xff", 64), "r and s exchanged": signature[32:] + signature[:32],
		"a bit changed": signature[:63] + string(signature[63]^1),
	} {
		tokens[name] = signed + encode(other)
	}
	for name, s := range signers {
		signed, signature := cutSignature(good.by(s).token(t))
		_, next := cutSignature(good.by(s).with("x", 1).token(t))
		tokens[name+", a byte more"] = signed + encode(string(decode(t, signature))+"x")
		tokens[name+", of the next token"] = signed + next
	}
	return tokens
}

// cutSignature cuts a token behind its last dot.
func cutSignature(token string) (signed, signature string) {
	dot := strings.LastIndex(token, ".") + 1
	return token[:dot], token[dot:]
}

// nextLetter returns the next letter of base64url: it differs in bits that do not count at
// the end of a signature.
func nextLetter(last byte) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(letters[strings.IndexByte(letters, last)+1])
}

// badClaims returns values of claims with which no token is accepted.
func badClaims() map[string][]any {
	const issuer, audience = devissuer.Name, devissuer.Audience
	day := 24 * time.Hour
	return map[string][]any{
		"exp": {
			fromNow(-45 * time.Second), 0, -1, fromNow(day) + 2, fromNow(365 * day), fromNow(time.Hour) * 1000, 1e16, 1e300,
			fmt.Sprint(fromNow(time.Hour)), nil, true, []int64{fromNow(time.Hour)},
		},
		"nbf": {fromNow(10 * time.Minute), "0", nil, -1e300, 1e300},
		"iat": {fromNow(10 * time.Minute), "0", nil, 0, -1, fromNow(-47 * time.Hour)},
		"iss": {"https://evil.example", issuer + "/", strings.ToUpper(issuer), issuer + ".evil.example", []string{issuer}, "", nil},
		"aud": {
			"other", audience + "-admin", strings.ToUpper(audience), "other " + audience, nil, "", []string{}, []string{"other", ""},
			[][]string{{audience}}, []any{1, audience}, 1, map[string]bool{audience: true},
		},
		"sub": {
			"", nil, 42, true, []string{e2e.Alice}, "alice\x00", "alice\n", "alice\x7f", "ali ce", "алиса", "alice\u200b", strings.Repeat("a", 256),
		},
		// The presence of these says that the token is for another purpose.
		"nonce":   {"n-0S6_WzA2Mj", nil},
		"at_hash": {"77QmUPtjPfzWtF2AnpK9RQ", nil},
		"events":  {map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}, nil},
		"cnf":     {map[string]string{"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}, nil},
	}
}

func claimTokens(t *testing.T, good forge, _ map[string]signer) map[string]string {
	t.Helper()
	tokens := map[string]string{
		"two days, without iat": good.without("iat").with("exp", fromNow(48*time.Hour)).token(t),
	}
	for claim, values := range badClaims() {
		for _, value := range values {
			tokens[fmt.Sprintf("%s %.60q", claim, fmt.Sprint(value))] = good.with(claim, value).token(t)
		}
	}
	for _, claim := range []string{"exp", "iss", "aud", "sub"} {
		tokens["no "+claim] = good.without(claim).token(t)
		tokens[claim+" in capitals"] = good.without(claim).with(strings.ToUpper(claim), good.claims[claim]).token(t)
	}
	return tokens
}

// badTransports returns calls whose good token is not in one Authorization header.
func badTransports(t *testing.T, good forge) map[string]e2e.Call {
	t.Helper()
	signed, none := good.token(t), balanceCall("")
	inQuery := balanceCall(signed)
	inQuery.Path += "?access_token=" + signed
	calls := map[string]e2e.Call{
		"no header":           none,
		"two headers":         none.WithHeader("Authorization", "Bearer "+signed, "Bearer "+signed),
		"Basic and Bearer":    none.WithHeader("Authorization", "Basic YTpi", "Bearer "+signed),
		"in query and header": inQuery,
		"in the query":        inQuery.WithToken(""),
		"in a cookie":         none.WithHeader("Cookie", "access_token="+signed),
		"for a proxy":         none.WithHeader("Proxy-Authorization", "Bearer "+signed),
		"in the body":         {Method: "POST", Path: "/orders", Key: "token-in-body", Body: `{"access_token": "` + signed + `"}`},
	}
	for _, value := range []string{
		"", "Bearer", signed, "Bearer\t" + signed, "Bearer  " + signed, "Bearer=" + signed, "Bearer: " + signed, "Basic " + signed,
		"DPoP " + signed, "Bearer " + signed + ", Bearer " + signed, "Bearer Bearer " + signed, "Bearer\u00a0" + signed,
	} {
		calls[fmt.Sprintf("%.30q", value)] = none.WithHeader("Authorization", value)
	}
	return calls
}
