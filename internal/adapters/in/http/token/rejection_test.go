package token

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rs/zerolog"

	"example.com/orders/internal/observe/metrics"
)

// fields are members of a header or claims.
type fields = map[string]any

// signed returns a token with a header and claims, of which nil removes a member.
func signed(t testing.TB, method jwt.SigningMethod, key crypto.Signer, header, claims fields) string {
	t.Helper()
	token := &jwt.Token{Method: method, Header: fields{"alg": method.Alg(), "kid": "main"}, Claims: jwt.MapClaims(fields{
		"iss": "issuer", "aud": "orders", "sub": "ann", "roles": []string{"system"}, "iat": 1_800_000_000, "exp": 1_800_003_600,
	})}
	for changed, into := range map[*fields]fields{&header: token.Header, &claims: token.Claims.(jwt.MapClaims)} {
		maps.Copy(into, *changed)
		maps.DeleteFunc(into, func(_ string, value any) bool { return value == nil })
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// badRequests are requests for each reason: the Authorization header, or the header and claims
// of a token that is signed with the issuer's key.
var badRequests = map[string]struct {
	reason, detail string
	authorization  []string
	query          string
	header, claims fields
}{
	"nothing":        {reason: "missing", authorization: []string{}},
	"another scheme": {reason: "missing", authorization: []string{"Basic YTpi"}},
	"no token":       {reason: "missing", authorization: []string{"Bearer "}},
	"two headers":    {reason: "misplaced", authorization: []string{"Bearer a", "Bearer a"}},
	"in the query":   {reason: "misplaced", query: "?access_token=a"},
	"a word":         {reason: "opaque", authorization: []string{"Bearer hunter2"}},
	"two parts":      {reason: "opaque", authorization: []string{"Bearer e30.hunter2"}},
	"no header":      {reason: "opaque", authorization: []string{"Bearer hunter2.hunter2.hunter2"}},
	"a list":         {reason: "opaque", authorization: []string{"Bearer W10.e30.hunter2"}},
	"no base64":      {reason: "opaque", authorization: []string{"Bearer {}.e30.hunter2"}},
	"encrypted":      {reason: "malformed", authorization: []string{"Bearer e30.hunter2.hunter2.hunter2.hunter2"}},
	"ambiguous":      {reason: "malformed", authorization: []string{"Bearer eyJhIjoxLCJhIjoyfQ.e30.hunter2"}},
	"too large":      {reason: "malformed", authorization: []string{"Bearer " + strings.Repeat("a", maxToken+1)}},
	"HS256":          {reason: "algorithm", header: fields{"alg": "HS256"}},
	"no algorithm":   {reason: "algorithm", header: fields{"alg": "none"}},
	"unknown":        {reason: "algorithm", header: fields{"alg": "hunter2"}},
	"a type":         {reason: "type", header: fields{"typ": "hunter2+jwt"}},
	"an extension":   {reason: "type", header: fields{"crit": []string{"hunter2"}}},
	"no kid":         {reason: "unknown_key", header: fields{"kid": nil}},
	"another kid":    {reason: "unknown_key", header: fields{"kid": "hunter2"}},
	"another alg":    {reason: "unknown_key", header: fields{"alg": "RS256"}},
	"a stranger":     {reason: "signature"}, // see authorizationOf
	"another issuer": {reason: "issuer", claims: fields{"iss": "https://hunter2.example", "aud": "hunter2", "exp": 1}},
	"another aud":    {reason: "audience", detail: "the token is for another audience; the service requires orders", claims: fields{"aud": []string{"hunter2"}, "exp": 1}},
	"expired":        {reason: "expired", detail: "the token expired at 2027-01-15T07:59:30Z", claims: fields{"exp": 1_799_999_970}},
	"nbf":            {reason: "not_yet", claims: fields{"nbf": 1_800_000_031}},
	"iat":            {reason: "not_yet", claims: fields{"iat": 1_800_000_031}},
	"two days":       {reason: "lifetime", claims: fields{"exp": 1_800_172_800}},
	"an ID token":    {reason: "purpose", claims: fields{"nonce": "hunter2"}},
	"no subject":     {reason: "claims", claims: fields{"sub": nil}},
	"a bad one":      {reason: "claims", claims: fields{"sub": "hunter 2"}},
	"no audience":    {reason: "claims", claims: fields{"aud": nil}},
	"no exp":         {reason: "claims", claims: fields{"exp": nil}},
	"exp as text":    {reason: "claims", claims: fields{"exp": "hunter2"}},
	"a distant nbf":  {reason: "claims", claims: fields{"nbf": -1e300}},
}

func TestVerifier_SaysWhyItRefuses(t *testing.T) {
	t.Parallel()
	clock, key, stranger := &testClock{}, newEC(t, elliptic.P256()), newEC(t, elliptic.P256())
	v, _ := newTestVerifier(t, newTestIssuer(t, keyOf(t, key.Public())), clock)
	seen := map[string]bool{"client": true} // see TestVerifier_AcceptsClientsInPlaceOfAnAudience
	for name, c := range badRequests {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+c.query, http.NoBody)
		if r.Header["Authorization"] = c.authorization; c.authorization == nil {
			by := key
			if c.reason == "signature" {
				by = stranger
			}
			r.Header.Set("Authorization", "Bearer "+signed(t, jwt.SigningMethodES256, by, c.header, c.claims))
		}
		_, err := v.Authenticate(r)
		rejection, rejected := errors.AsType[*Rejection](err)
		if !rejected || rejection.Reason != c.reason {
			t.Errorf("%s: %#v, want %s", name, err, c.reason)
			continue
		}
		if want := c.detail; want != "" && rejection.Detail != want || strings.Contains(rejection.Detail, "hunter") || rejection.Detail == "" {
			t.Errorf("%s: detail %q, want %q", name, rejection.Detail, want)
		}
		seen[c.reason] = true
	}
	for _, r := range rejections {
		if !seen[r.Reason] {
			t.Errorf("no request is refused as %s", r.Reason)
		}
	}
}

// Only a token of the issuer learns when it expired.
func TestVerifier_ReadsNoClaimsBeforeTheSignature(t *testing.T) {
	t.Parallel()
	clock := &testClock{}
	v, _ := newTestVerifier(t, newTestIssuer(t, keyOf(t, newEC(t, elliptic.P256()).Public())), clock)
	err := send(v, signed(t, jwt.SigningMethodES256, newEC(t, elliptic.P256()), nil, fields{"exp": 1, "iss": "another"}))
	if rejection, _ := errors.AsType[*Rejection](err); rejection == nil || rejection.Reason != "signature" {
		t.Errorf("%#v, want the signature", err)
	}
}

func TestRejection_ChallengesAsRFC6750(t *testing.T) {
	t.Parallel()
	if got := reject("missing").Challenge(); got != "Bearer" {
		t.Errorf("without a token: %s, want no error", got)
	}
	for _, r := range rejections {
		if r.Challenge() != "Bearer" && !strings.Contains(r.Challenge(), r.Detail) || r.Detail == "" {
			t.Errorf("%s: %q cannot be quoted", r.Reason, r.Detail)
		}
	}
	configured := Rejection{Detail: "the service requires a\"b\\c\nd\u00e9"}
	if got := configured.Challenge(); !strings.HasSuffix(got, `="the service requires a?b?c?d?"`) {
		t.Errorf("characters of a setting that a description may not contain: %s", got)
	}
	const want = `Bearer error="invalid_token", error_description="the token's signature is invalid"`
	if got := reject("signature").Challenge(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Prometheus misses the first increment of a counter that does not begin at 0.
func TestRejections_AreCountedFromZero(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	metrics.New(zerolog.Nop()).Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	for _, r := range rejections {
		if want := `orders_unauthenticated_requests_total{reason="` + r.Reason + `"} 0`; !strings.Contains(recorder.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// RFC 9864 names the algorithm after its curve.
func TestVerifier_KnowsBothNamesOfEd25519(t *testing.T) {
	t.Parallel()
	clock := &testClock{}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, published := range []any{nil, "EdDSA", "Ed25519"} {
		v, _ := newTestVerifier(t, newTestIssuer(t, keyOf(t, public).with("alg", published)), clock)
		for _, alg := range []string{"EdDSA", "Ed25519"} {
			token := signed(t, jwt.SigningMethodEdDSA, private, fields{"alg": alg}, nil)
			if err := errors.Join(send(v, token), send(v, token)); err != nil {
				t.Errorf("a key for %v, a token with %s: %v", published, alg, err)
			}
		}
	}
}

// newClientVerifier returns a verifier that accepts the tokens of two clients.
func newClientVerifier(t testing.TB, issuer *testIssuer) *Verifier {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	v, err := NewVerifier(ctx, Config{
		Issuer: "issuer", Clients: []string{"web", "https://shop.example"}, JWKSURL: issuer.url, RolesClaim: "roles", Roles: ourRoles,
		Types: []string{"JWT"}, MaxLifetime: time.Hour, MaxKeyAge: time.Hour,
		Now: (&testClock{}).now, OnRefreshError: func(error) {}, OnUnusedKey: func(UnusedKey) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); v.Close() })
	return v
}

// Without an audience, an ID token would otherwise work as an access token, and so would
// a token for another service.
func TestVerifier_AcceptsClientsInPlaceOfAnAudience(t *testing.T) {
	t.Parallel()
	key := newEC(t, elliptic.P256())
	v := newClientVerifier(t, newTestIssuer(t, keyOf(t, key.Public())))
	for name, c := range map[string]struct {
		claims fields
		reason string
	}{
		"client_id":                 {fields{"client_id": "web"}, ""},
		"azp":                       {fields{"azp": "https://shop.example"}, ""},
		"both":                      {fields{"client_id": "web", "azp": "web"}, ""},
		"two":                       {fields{"client_id": "web", "azp": "https://shop.example"}, "client"},
		"azp is no text":            {fields{"client_id": "web", "azp": []string{"web"}}, "client"},
		"an empty azp":              {fields{"client_id": "web", "azp": ""}, "client"},
		"neither is text":           {fields{"client_id": 1, "azp": 1}, "client"},
		"neither":                   {fields{}, "client"},
		"another client_id":         {fields{"client_id": "other"}, "client"},
		"another azp":               {fields{"azp": "https://other.example"}, "client"},
		"another one and azp":       {fields{"client_id": "other", "azp": "web"}, "client"},
		"a list":                    {fields{"client_id": []string{"web"}}, "client"},
		"an audience":               {fields{"client_id": "web", "aud": "other"}, "audience"},
		"the client as an audience": {fields{"azp": "web", "aud": "web"}, "audience"},
		"an empty audience":         {fields{"client_id": "web", "aud": ""}, "audience"},
	} {
		if _, has := c.claims["aud"]; !has {
			c.claims["aud"] = nil
		}
		err := send(v, signed(t, jwt.SigningMethodES256, key, nil, c.claims))
		rejection, rejected := errors.AsType[*Rejection](err)
		if rejected != (c.reason != "") || rejected && rejection.Reason != c.reason {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
	}
}
