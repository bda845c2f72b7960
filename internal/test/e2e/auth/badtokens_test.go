package auth_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
)

// fewestBadTokens is how many ways to cheat the table below has at least.
const fewestBadTokens = 80

// badToken is a call that must be refused, and why.
type badToken struct {
	name, why string
	call      e2e.Call
	status    int
}

// bad returns a call whose token proves nothing.
func bad(name, why, token string) badToken {
	return badToken{name, why, balanceCall(token), http.StatusUnauthorized}
}

// badTokens are the ways to cheat, by kind. Each makes its tokens when it is their turn,
// because some become valid, and some expire.
var badTokens = []struct {
	kind string
	make func(t *testing.T, good forge, signers map[string]signer) []badToken
}{
	{"structure", structureTokens},
	{"JSON", ambiguousTokens},
	{"alg", algTokens},
	{"kid", kidTokens},
	{"header", headerTokens},
	{"typ", typTokens},
	{"signature", signatureTokens},
	{"times", timeTokens},
	{"issuer", issuerTokens},
	{"subject", subjectTokens},
	{"purpose", purposeTokens},
	{"roles", roleTokens},
	{"transport", transportTokens},
}

func TestTokens_BadOnesAreRefused(t *testing.T) {
	t.Parallel()
	s, signers := startWithSigners(t)
	good := honest(s.Env).by(signers["ES256"])
	s.MustSend(t, balanceCall(good.token(t))) // is remembered, and must not help the others
	tried := map[string]bool{}
	for _, group := range badTokens {
		for _, c := range group.make(t, good, signers) {
			name := group.kind + ": " + c.name
			if tried[name] {
				t.Errorf("%s: two tokens have this name", name)
			}
			tried[name] = true
			t.Run(name, func(t *testing.T) { checkBadToken(t, s, c) })
		}
	}
	t.Logf("%d bad tokens tried", len(tried))
	if len(tried) < fewestBadTokens {
		t.Errorf("%d bad tokens tried, want at least %d", len(tried), fewestBadTokens)
	}
}

// checkBadToken sends a call that must be refused with its status.
func checkBadToken(t *testing.T, s *e2e.Service, c badToken) {
	t.Helper()
	if c.status == http.StatusUnauthorized {
		checkUnauthenticated(t, s, c.call)
	} else {
		s.WantProblem(t, c.status, "forbidden_role", c.call)
	}
	if t.Failed() {
		t.Log("it must be refused because", c.why)
	}
}

func structureTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	signed := good.token(t)
	parts := strings.Split(signed, ".")
	header, claims := text(t, good.header), text(t, good.claims)
	standard := base64.StdEncoding.EncodeToString([]byte(claims[:len(claims)-1] + `,"x":"???>>>~~~"}`))
	const three, alphabet = "a JWS has three parts", "base64url has one form"
	return []badToken{
		bad("a word", three, "x"),
		bad("dots", "no part may be empty", ".."),
		bad("two parts", three, parts[0]+"."+parts[1]),
		bad("four parts", three, signed+".x"),
		bad("five parts", "encrypted tokens are not accepted", "a.b.c.d.e"),
		bad("a dot before", three, "."+signed),
		bad("a dot behind", three, signed+"."),
		bad("no header", "no part may be empty", "."+parts[1]+"."+parts[2]),
		bad("no claims", "no part may be empty", parts[0]+".."+parts[2]),
		bad("JSON serialisation", "only the compact form is accepted", fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, parts[1], parts[0], parts[2])),
		bad("in quotes", alphabet, `"`+signed+`"`),
		bad("a space within", alphabet, parts[0]+". "+parts[1]+"."+parts[2]),
		bad("per cent encoded", alphabet, strings.ReplaceAll(signed, ".", "%2E")),
		bad("padded", alphabet, parts[0]+"=."+parts[1]+"."+parts[2]+"=="),
		bad("standard base64", alphabet, parts[0]+"."+standard+"."+parts[2]),
		bad("claims in base64 twice", "claims are an object", good.sign(t, header, encode(claims))),
		bad("claims in plain text", alphabet, parts[0]+"."+claims+"."+parts[2]),
		bad("9 KB", "a larger token is not parsed", good.with("x", strings.Repeat("x", 9<<10)).token(t)),
		bad("60 KB", "a larger token is not parsed", good.with("x", strings.Repeat("x", 60<<10)).token(t)),
		bad("8 KB of dots", three, strings.Repeat(".", 8<<10)),
	}
}

func ambiguousTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	header, claims := text(t, good.header), text(t, good.claims)
	inClaims := func(before, after string) string {
		if !strings.Contains(claims, before) {
			t.Fatalf("%s is not in %s", before, claims)
		}
		return good.sign(t, header, strings.Replace(claims, before, after, 1))
	}
	const object, twice, utf8 = "claims are one object", "parsers disagree about a member that is there twice", "parsers disagree about invalid UTF-8"
	return []badToken{
		bad("no JSON", object, good.sign(t, header, "alice")),
		bad("a list", object, good.sign(t, header, "["+claims+"]")),
		bad("null", object, good.sign(t, header, "null")),
		bad("a string", object, good.sign(t, header, `"alice"`)),
		bad("nothing", object, good.sign(t, header, "")),
		bad("NUL", object, good.sign(t, header, "\x00")),
		bad("NUL behind", object, good.sign(t, header, claims+"\x00")),
		bad("a tail", object, good.sign(t, header, claims+"{}")),
		bad("a comma too much", object, good.sign(t, header, claims[:len(claims)-1]+",}")),
		bad("a comment", object, good.sign(t, header, "/* */"+claims)),
		bad("a byte order mark", object, good.sign(t, header, "\ufeff"+claims)),
		bad("UTF-16", object, good.sign(t, header, "\xff\xfe{\x00}\x00")),
		bad("half of it", object, good.sign(t, header, claims[:len(claims)/2])),
		bad("NaN", object, inClaims(`"sub"`, `"x":NaN,"sub"`)),
		bad("invalid UTF-8", utf8, inClaims(`"alice"`, "\"alice\xff\"")),
		bad("half a surrogate", utf8, inClaims(`"alice"`, `"alice\ud800"`)),
		bad("an overlong slash", utf8, inClaims(`"alice"`, "\"alice\xc0\xaf\"")),
		bad("sub twice", twice, inClaims(`"sub"`, `"sub":"bob","sub"`)),
		bad("sub twice, by an escape", twice, inClaims(`"sub"`, `"s\u0075b":"bob","sub"`)),
		bad("exp twice", twice, inClaims(`"exp"`, `"exp":1,"exp"`)),
		bad("roles twice", twice, inClaims(`"roles"`, `"roles":["admin"],"roles"`)),
		bad("twice, deep within", twice, inClaims(`"sub"`, `"x":[{"a":1,"a":2}],"sub"`)),
		bad("alg twice", twice, good.sign(t, strings.Replace(header, `"alg"`, `"alg":"none","alg"`, 1), claims)),
		bad("kid twice", twice, good.sign(t, strings.Replace(header, `"kid"`, `"kid":"other","kid"`, 1), claims)),
		bad("a header that is a list", "a header is one object", good.sign(t, "["+header+"]", claims)),
		bad("a header that is null", "a header is one object", good.sign(t, "null", claims)),
		bad("an empty header", "a header names alg and kid", good.sign(t, "{}", claims)),
	}
}

func algTokens(t *testing.T, good forge, signers map[string]signer) []badToken {
	t.Helper()
	rs := signers["RS256"]
	unsigned := func(alg string) string {
		return encode(text(t, good.withHeader("alg", alg).header)) + "." + encode(text(t, good.claims)) + "."
	}
	rows := []badToken{
		bad("as a list", "alg is a string", good.withHeader("alg", []string{"ES256"}).token(t)),
		bad("as a number", "alg is a string", good.withHeader("alg", 256).token(t)),
		bad("missing", "alg is required", good.withHeader("alg", nil).token(t)),
		bad("none, by the library", "none is no signature", good.signedBy(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType).token(t)),
		bad("none, with a signature", "none is no signature", good.withHeader("alg", "none").token(t)),
	}
	for _, alg := range []string{"none", "None", "NONE", "nOnE", ""} {
		rows = append(rows, bad("unsigned as "+alg, "none is no signature", unsigned(alg)))
	}
	for _, alg := range []string{"es256", "ES256 ", "ES384", "ES512", "ES256K", "ES257", "RS256", "PS256", "EdDSA", "HS256"} {
		rows = append(rows, bad("ES256 as "+alg, "the key is for ES256", good.withHeader("alg", alg).token(t)))
	}
	for _, method := range []jwt.SigningMethod{jwt.SigningMethodRS384, jwt.SigningMethodRS512, jwt.SigningMethodPS256, jwt.SigningMethodPS384} {
		rows = append(rows, bad(method.Alg()+" by the key of RS256", "the key is for RS256", good.by(rs).signedBy(method, rs.key).token(t)))
	}
	for name, secret := range publishedSecrets(t, rs) {
		for _, method := range []*jwt.SigningMethodHMAC{jwt.SigningMethodHS256, jwt.SigningMethodHS512} {
			token := good.by(rs).signedBy(method, secret).token(t)
			rows = append(rows, bad(method.Alg()+" with "+name, "a public key is no secret", token))
		}
	}
	return rows
}

// publishedSecrets are the forms of a public key that a careless service would take as the
// secret of an HMAC.
func publishedSecrets(t *testing.T, s signer) map[string][]byte {
	t.Helper()
	public := s.key.Public().(*rsa.PublicKey)
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"the PEM":     pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"the PKCS 1":  pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(public)}),
		"the DER":     der,
		"the modulus": public.N.Bytes(),
		"the JWK":     []byte(text(t, s.jwk(t))),
		"nothing":     {},
	}
}

func kidTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	stranger := good.signedBy(jwt.SigningMethodES256, signingKey(t))
	empty := good.signedBy(jwt.SigningMethodHS256, []byte{})
	const known = "kid is the name of a published key"
	return []badToken{
		bad("missing", "no key is tried that the token does not name", good.withHeader("kid", nil).token(t)),
		bad("empty", known, good.withHeader("kid", "").token(t)),
		bad("null", known, good.sign(t, `{"alg":"ES256","kid":null}`, text(t, good.claims))),
		bad("a number", known, good.withHeader("kid", 1).token(t)),
		bad("a list", known, good.withHeader("kid", []string{"ES256"}).token(t)),
		bad("an object", known, good.withHeader("kid", map[string]string{"kid": "ES256"}).token(t)),
		bad("true", known, good.withHeader("kid", true).token(t)),
		bad("unknown", known, good.withHeader("kid", "nobody").token(t)),
		bad("with a space", known, good.withHeader("kid", "ES256 ").token(t)),
		bad("in lower case", known, good.withHeader("kid", "es256").token(t)),
		bad("with NUL", known, good.withHeader("kid", "ES256\x00").token(t)),
		bad("of another key", known, good.withHeader("kid", "RS256").token(t)),
		bad("long", known, good.withHeader("kid", strings.Repeat("ES256", 1000)).token(t)),
		bad("a path", "kid is no path", empty.withHeader("kid", "../../../../../../dev/null").token(t)),
		bad("a path to a key", "kid is no path", stranger.withHeader("kid", "file:///tmp/ES256").token(t)),
		bad("a URL", "kid is no address", stranger.withHeader("kid", "http://127.0.0.1:1/keys").token(t)),
		bad("SQL", "kid is no SQL", stranger.withHeader("kid", "' OR '1'='1").token(t)),
		bad("SQL with a key", "kid is no SQL", good.signedBy(jwt.SigningMethodHS256, []byte("x")).withHeader("kid", "x' UNION SELECT 'x' --").token(t)),
		bad("a command", "kid is no command", stranger.withHeader("kid", "|/bin/true").token(t)),
	}
}

func headerTokens(t *testing.T, good forge, signers map[string]signer) []badToken {
	t.Helper()
	stranger := good.signedBy(jwt.SigningMethodES256, signingKey(t))
	own := publicJWK(t, stranger.public(), "own", "ES256", "sig")
	thief, key, _ := startThief(t)
	const critical, brought = "a critical extension that is not known", "a token does not bring its own key"
	rows := []badToken{
		bad("crit", critical, good.withHeader("crit", []string{"exp"}).token(t)),
		bad("crit of an extension", critical, good.withHeader("crit", []string{"http://example.com/x"}).withHeader("http://example.com/x", true).token(t)),
		bad("empty crit", critical, good.withHeader("crit", []string{}).token(t)),
		bad("crit null", critical, good.sign(t, `{"alg":"ES256","kid":"ES256","crit":null}`, text(t, good.claims))),
		bad("b64", critical, good.withHeader("b64", false).withHeader("crit", []string{"b64"}).token(t)),
		bad("zip", "a compressed token has no claims", good.sign(t, text(t, good.withHeader("zip", "DEF").header), "\xab\x56\x2a\x2e\x4d")),
		bad("jwk", brought, stranger.withHeader("jwk", own).token(t)),
		bad("jwk and its kid", brought, stranger.withHeader("jwk", own).withHeader("kid", "own").token(t)),
		bad("x5c", brought, stranger.withHeader("x5c", []string{certificate(t, stranger)}).token(t)),
		bad("x5c and its kid", brought, stranger.withHeader("x5c", []string{certificate(t, stranger)}).withHeader("kid", "own").token(t)),
	}
	for _, name := range []string{"jku", "x5u"} {
		rows = append(rows,
			bad(name, brought, good.by(key).withHeader(name, thief).token(t)),
			bad(name+" with a known kid", brought, good.by(key).withHeader("kid", "ES256").withHeader(name, thief).token(t)))
	}
	unencoded := text(t, good.claims)
	signed := encode(text(t, good.withHeader("b64", false).header)) + "." + unencoded
	signature, err := good.method.Sign(signed, signers["ES256"].key)
	if err != nil {
		t.Fatal(err)
	}
	return append(rows, bad("b64 without crit", "claims are base64", signed+"."+encode(string(signature))))
}

// certificate returns a certificate that a forge has given itself.
func certificate(t *testing.T, f forge) string {
	t.Helper()
	template := &x509.Certificate{NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, f.public(), f.key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

func typTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	var rows []badToken
	for _, typ := range []any{
		"", "JWE", "JOSE", "ID", "id+jwt", "logout+jwt", "secevent+jwt", "dpop+jwt", "client-authentication+jwt", "vc+sd-jwt",
		"application/", "application/logout+jwt", "text/JWT", "application/application/JWT", "at+jwt;v=1", " JWT", "JWT,at+jwt",
		1, true, []string{"JWT"}, map[string]string{"typ": "JWT"},
	} {
		rows = append(rows, bad(fmt.Sprintf("%q", fmt.Sprint(typ)), "the token is of another type", good.withHeader("typ", typ).token(t)))
	}
	null := good.sign(t, `{"alg":"ES256","kid":"ES256","typ":null}`, text(t, good.claims))
	return append(rows, bad("null", "the token is of another type", null))
}

func signatureTokens(t *testing.T, good forge, signers map[string]signer) []badToken {
	t.Helper()
	token := good.token(t)
	parts := strings.Split(token, ".")
	signed, encoded := cutSignature(token)
	signature := string(decode(t, encoded))
	with := func(signature string) string { return signed + encode(signature) }
	hash := sha256.Sum256([]byte(strings.TrimSuffix(signed, ".")))
	der, err := ecdsa.SignASN1(rand.Reader, signers["ES256"].key.(*ecdsa.PrivateKey), hash[:])
	if err != nil {
		t.Fatal(err)
	}
	adminClaims := encode(text(t, good.with("roles", []string{"admin"}).claims))
	const length, other = "the signature has 64 bytes", "the signature is of something else"
	rows := []badToken{
		bad("none", length, signed),
		bad("half", length, with(signature[:32])),
		bad("a byte less", length, with(signature[:63])),
		bad("a byte more", length, with(signature+"\x00")),
		bad("a byte before", length, with("\x00"+signature)),
		bad("twice", length, with(signature+signature)),
		bad("DER", "JWS has r and s one after the other", with(string(der))),
		bad("r and s zero", "r and s are positive", with(strings.Repeat("\x00", 64))),
		bad("s zero", "r and s are positive", with(signature[:32]+strings.Repeat("\x00", 32))),
		bad("r and s too large", "r and s are below the order", with(strings.Repeat("\xff", 64))),
		bad("r and s exchanged", other, with(signature[32:]+signature[:32])),
		bad("a bit changed", other, with(signature[:63]+string(signature[63]^1))),
		bad("unused bits set", "base64url has one form", token[:len(token)-1]+nextLetter(token[len(token)-1])),
		bad("of other claims", other, parts[0]+"."+adminClaims+"."+parts[2]),
		bad("of another header", other, encode(text(t, good.withHeader("x", 1).header))+"."+parts[1]+"."+parts[2]),
		bad("by a stranger", "the key is not published", good.signedBy(jwt.SigningMethodES256, signingKey(t)).token(t)),
	}
	for name, s := range signers {
		signed, signature := cutSignature(good.by(s).token(t))
		_, next := cutSignature(good.by(s).with("x", 1).token(t))
		longer := encode(string(decode(t, signature)) + "x")
		rows = append(rows, bad(name+", a byte more", other, signed+longer), bad(name+", of the next token", other, signed+next))
	}
	return rows
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

func timeTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	const expired, number, later, long = "it has expired", "times are numbers", "it is not valid yet", "it would be valid for too long"
	return []badToken{
		bad("expired", expired, good.with("exp", fromNow(-45*time.Second)).token(t)),
		bad("expired long ago", expired, good.with("exp", 1).token(t)),
		bad("exp 0", expired, good.with("exp", 0).token(t)),
		bad("exp negative", expired, good.with("exp", -1).token(t)),
		bad("exp a string", number, good.with("exp", fmt.Sprint(fromNow(time.Hour))).token(t)),
		bad("exp a date", number, good.with("exp", time.Now().Add(time.Hour).Format(time.RFC3339)).token(t)),
		bad("exp huge", "no float has it exactly", good.with("exp", 1e300).token(t)),
		bad("exp beyond 2^53", "no float has it exactly", good.with("exp", 1e16).token(t)),
		bad("exp null", number, good.with("exp", nil).token(t)),
		bad("exp true", number, good.with("exp", true).token(t)),
		bad("exp a list", number, good.with("exp", []int64{fromNow(time.Hour)}).token(t)),
		bad("exp an object", number, good.with("exp", map[string]int64{"exp": fromNow(time.Hour)}).token(t)),
		bad("exp in milliseconds", long, good.with("exp", fromNow(time.Hour)*1000).token(t)),
		bad("no exp", "every token expires", good.without("exp").token(t)),
		bad("EXP", "names have a case", good.without("exp").with("EXP", fromNow(time.Hour)).token(t)),
		bad("nbf later", later, good.with("nbf", fromNow(10*time.Minute)).token(t)),
		bad("nbf a string", number, good.with("nbf", "0").token(t)),
		bad("nbf null", number, good.with("nbf", nil).token(t)),
		bad("nbf negative", "no clock had it", good.with("nbf", -1e300).token(t)),
		bad("nbf huge", later, good.with("nbf", 1e300).token(t)),
		bad("iat later", later, good.with("iat", fromNow(10*time.Minute)).token(t)),
		bad("iat a string", number, good.with("iat", "0").token(t)),
		bad("iat null", number, good.with("iat", nil).token(t)),
		bad("iat 0", long, good.with("iat", 0).token(t)),
		bad("iat negative", "no clock had it", good.with("iat", -1).token(t)),
		bad("valid for more than a day", long, good.with("iat", fromNow(0)).with("exp", fromNow(0)+24*60*60+1).token(t)),
		bad("the last hour of two days", long, good.with("iat", fromNow(-47*time.Hour)).token(t)),
		bad("valid for a year", long, good.with("exp", fromNow(365*24*time.Hour)).token(t)),
		bad("valid for two days, without iat", long, good.without("iat").with("exp", fromNow(48*time.Hour)).token(t)),
	}
}

func issuerTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	const issuer, audience = "another issuer vouches for others", "the token is for another service"
	return []badToken{
		bad("of somebody else", issuer, good.with("iss", "https://evil.example").token(t)),
		bad("with a slash", issuer, good.with("iss", devissuer.Name+"/").token(t)),
		bad("with a space", issuer, good.with("iss", devissuer.Name+" ").token(t)),
		bad("in capitals", issuer, good.with("iss", strings.ToUpper(devissuer.Name)).token(t)),
		bad("longer", issuer, good.with("iss", devissuer.Name+".evil.example").token(t)),
		bad("a list", issuer, good.with("iss", []string{devissuer.Name}).token(t)),
		bad("missing", issuer, good.without("iss").token(t)),
		bad("empty", issuer, good.with("iss", "").token(t)),
		bad("null", issuer, good.with("iss", nil).token(t)),
		bad("another audience", audience, good.with("aud", "other").token(t)),
		bad("audience longer", audience, good.with("aud", devissuer.Audience+"-admin").token(t)),
		bad("audience in capitals", audience, good.with("aud", strings.ToUpper(devissuer.Audience)).token(t)),
		bad("audience with a slash", audience, good.with("aud", devissuer.Audience+"/").token(t)),
		bad("several audiences in a string", audience, good.with("aud", "other "+devissuer.Audience).token(t)),
		bad("no audience", audience, good.without("aud").token(t)),
		bad("audience null", audience, good.with("aud", nil).token(t)),
		bad("audience empty", audience, good.with("aud", "").token(t)),
		bad("an empty list of audiences", audience, good.with("aud", []string{}).token(t)),
		bad("a list of other audiences", audience, good.with("aud", []string{"other", ""}).token(t)),
		bad("a list within a list", audience, good.with("aud", [][]string{{devissuer.Audience}}).token(t)),
		bad("a number beside the audience", audience, good.with("aud", []any{1, devissuer.Audience}).token(t)),
		bad("audience as a number", audience, good.with("aud", 1).token(t)),
		bad("audience as an object", audience, good.with("aud", map[string]bool{devissuer.Audience: true}).token(t)),
	}
}

func subjectTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	rows := []badToken{
		bad("missing", "every token has a subject", good.without("sub").token(t)),
		bad("SUB", "names have a case", good.without("sub").with("SUB", e2e.Alice).token(t)),
	}
	for name, sub := range map[string]any{
		"empty": "", "null": nil, "a number": 42, "true": true, "a list": []string{e2e.Alice}, "an object": map[string]string{"sub": e2e.Alice},
		"with NUL": "alice\x00", "with a new line": "alice\n", "with an escape": "alice\x1b[0m", "with DEL": "alice\x7f",
		"with a space": "ali ce", "non-ASCII": "алиса", "a letter that looks alike": "аlice", "full width": "ａlice", "invisible": "alice\u200b",
		"256 characters": strings.Repeat("a", 256), "4000 characters": strings.Repeat("a", 4000),
	} {
		rows = append(rows, bad(name, "a subject is 1–255 printable ASCII characters", good.with("sub", sub).token(t)))
	}
	return rows
}

func purposeTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	logout := map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}
	const id, event, bound = "an ID token is for the client", "an event grants nothing", "the key that it is bound to is not checked"
	rows := []badToken{
		bad("nonce", id, good.with("nonce", "n-0S6_WzA2Mj").token(t)),
		bad("at_hash", id, good.with("at_hash", "77QmUPtjPfzWtF2AnpK9RQ").token(t)),
		bad("events", event, good.with("events", logout).token(t)),
		bad("cnf with a thumbprint", bound, good.with("cnf", map[string]string{"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}).token(t)),
		bad("cnf with a certificate", bound, good.with("cnf", map[string]string{"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}).token(t)),
	}
	for _, name := range []string{"nonce", "at_hash", "events", "cnf"} {
		rows = append(rows, bad(name+" null", "its presence says what it is for", good.with(name, nil).token(t)))
	}
	return rows
}

// roleTokens are of good people who may not do this.
func roleTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	none := good.without("roles")
	forbidden := func(name, why string, f forge) badToken {
		return badToken{name, why, balanceCall(f.token(t)), http.StatusForbidden}
	}
	rows := []badToken{
		forbidden("missing", "no role, no right", none),
		forbidden("in realm_access", "roles is the configured claim", none.with("realm_access", map[string]any{"roles": []string{"admin", "customer"}})),
		forbidden("in realm_access, too", "roles is the configured claim", good.with("roles", []string{}).with("realm_access", map[string]any{"roles": []string{"admin"}})),
		forbidden("in scope", "roles is the configured claim", none.with("scope", "admin customer")),
		forbidden("in Roles", "names have a case", none.with("Roles", []string{"admin"})),
	}
	for _, claim := range []string{"role", "groups", "authorities", "permissions", "cognito:groups", "resource_access"} {
		rows = append(rows, forbidden("in "+claim, "roles is the configured claim", none.with(claim, []string{"admin", "customer"})))
	}
	for _, role := range []any{
		"root", "superuser", "owner", "Admin", "ADMIN", "admin,customer", "admin\x00", "admin*", "ＡＤＭＩＮ", "*", "",
		1, true, map[string]bool{"admin": true}, [][]string{{"admin"}}, []any{nil, 1, "administrator"},
	} {
		rows = append(rows, forbidden(fmt.Sprintf("%#v", role), "there are four roles", good.with("roles", role)))
	}
	return rows
}

func transportTokens(t *testing.T, good forge, _ map[string]signer) []badToken {
	t.Helper()
	signed := good.token(t)
	inQuery := balanceCall("")
	inQuery.Path += "?access_token=" + signed
	const one, header = "there is one Bearer token", "a token is in the header only"
	row := func(name, why string, c e2e.Call) badToken { return badToken{name, why, c, http.StatusUnauthorized} }
	rows := []badToken{
		row("no header", header, balanceCall("")),
		row("two headers", one, balanceCall("").WithHeader("Authorization", "Bearer "+signed, "Bearer "+signed)),
		row("Basic and Bearer", one, balanceCall("").WithHeader("Authorization", "Basic YTpi", "Bearer "+signed)),
		row("in the query", header, inQuery),
		row("in query and header", header, inQuery.WithToken(signed)),
		row("in a cookie", header, balanceCall("").WithHeader("Cookie", "access_token="+signed)),
		row("for a proxy", header, balanceCall("").WithHeader("Proxy-Authorization", "Bearer "+signed)),
		row("in X-Authorization", header, balanceCall("").WithHeader("X-Authorization", "Bearer "+signed)),
		row("in the body", header, e2e.Call{Method: "POST", Path: "/orders", Key: "token-in-body", Body: `{"access_token": "` + signed + `"}`}),
		row("in a form", header, e2e.Call{Method: "POST", Path: "/orders", Body: "access_token=" + signed}.
			WithHeader("Content-Type", "application/x-www-form-urlencoded")),
	}
	for name, value := range map[string]string{
		"an empty header": "", "a scheme alone": "Bearer", "no scheme": signed, "a tab": "Bearer\t" + signed,
		"two spaces": "Bearer  " + signed, "a space and a tab": "Bearer \t" + signed, "an equals sign": "Bearer=" + signed,
		"a colon": "Bearer: " + signed, "Basic": "Basic YWxpY2U6c2VjcmV0", "the token as Basic": "Basic " + signed,
		"DPoP": "DPoP " + signed, "two tokens": "Bearer " + signed + ", Bearer " + signed, "Bearer twice": "Bearer Bearer " + signed,
		"a parameter": `Bearer realm="orders", token="` + signed + `"`, "a no-break space": "Bearer\u00a0" + signed,
	} {
		rows = append(rows, row(name, one, balanceCall("").WithHeader("Authorization", value)))
	}
	return rows
}
