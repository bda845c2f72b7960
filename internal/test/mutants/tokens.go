package main

import "slices"

// tokenMutants are what keeps bad tokens, and bad answers of the issuer and of the card
// provider, from being believed.
var tokenMutants = slices.Concat(keyMutants, fetchMutants, claimMutants, providerMutants)

const (
	auth     = "internal/adapters/in/http/auth.go"
	jwk      = "internal/adapters/in/http/jwk.go"
	jwks     = "internal/adapters/in/http/jwks.go"
	purpose  = "internal/adapters/in/http/purpose.go"
	authPkg  = "./internal/test/e2e/auth"
	badToken = "TestTokens_BadOnesAreRefused"
)

// keyMutants are about which keys verify tokens.
var keyMutants = []mutant{
	{"a set without a usable key replaces none", jwk, `if len(keys) == 0 {`, `if false {`, httpPkg, "TestUsableKeys_RefusesASetWithoutAny"},
	{"the number of keys is bounded", jwk, `len(published.Keys) > maxKeys`, `false`, httpPkg, "TestUsableKeys_RefusesASetWithoutAny"},
	{
		"a malformed key spoils only itself", jwk, `key, ok := usableKey(text)
`, `key, ok := usableKey(text)
		if !ok {
			return nil, errors.New("malformed")
		}
`, httpPkg, "TestUsableKeys_PassesOverWhatItCannotUse",
	},
	{"of two keys with one kid the first counts", jwk, `ok && !taken[kid]`, `ok`, httpPkg, "TestUsableKeys_PassesOverWhatItCannotUse"},
	{"a key is unambiguous JSON", jwk, `!isStrictJSON(text) || `, ``, httpPkg, "TestUsableKey_RefusesOthers"},
	{"a private key verifies nothing", jwk, `private == "" && `, `private != "-" && `, httpPkg, "TestUsableKey_RefusesOthers"},
	{"use allows to verify", jwk, `(k.USE == "" || k.USE == jwkset.UseSig) &&`, ``, httpPkg, "TestUsableKey_RefusesOthers"},
	{"key_ops allows to verify", jwk, `(k.KEYOPS == nil || slices.Contains(k.KEYOPS, jwkset.KeyOpsVerify))`, `true`, httpPkg, "TestUsableKey_RefusesOthers"},
	{"a key is for an algorithm of its kind", jwk, `!slices.Contains(possible, published.ALG)`, `len(possible) == 0`, httpPkg, "TestUsableKey_RefusesOthers"},
	{"a key without alg stands for one algorithm", jwk, `published.ALG = possible[0]`, `possible = append(possible, "")`, httpPkg, "TestUsableKey_HasOneAlgorithm"},
	{"an EC key is of P-256", jwk, `k.KTY == jwkset.KtyEC && k.CRV == jwkset.CrvP256`, `k.KTY == jwkset.KtyEC`, httpPkg, "TestUsableKey_RefusesOthers"},
	{"an RSA key has 2048 bits", jwk, `bits >= minRSA && `, ``, httpPkg, "TestUsableKey_RefusesOthers"},
	{"an RSA key has 8192 bits at most", jwk, `bits <= maxRSA && `, ``, httpPkg, "TestUsableKey_RefusesOthers"},
	{"an RSA key has a safe exponent", jwk, ` && key.E >= 3 && key.E%2 == 1`, ``, httpPkg, "TestUsableKey_RefusesOthers"},
}

// fetchMutants are about where keys come from, and how long they are trusted.
var fetchMutants = []mutant{
	{"the keys are fetched without redirects", jwks, `CheckRedirect: noRedirect`, `CheckRedirect: nil`, authPkg, "TestKeys_AreNotFetchedFromWhereTheIssuerRedirects"},
	{"a failed response has no keys", jwks, `resp.StatusCode != http.StatusOK`, `false`, httpPkg, "TestVerifier_TrustsKeysForALimitedTime"},
	{"the size of a set is bounded", jwks, `http.MaxBytesReader(nil, resp.Body, maxKeySet)`, `resp.Body`, authPkg, "TestKeys_ServiceIsNotReadyWithoutThemAndRecovers"},
	{"unknown keys do not flood the issuer", jwks, `if s.unknown.AllowN(s.cfg.Now(), 1) {`, `if true {`, authPkg, "TestKeys_UnknownOnesDoNotFloodIssuer"},
	{"keys grow too old", jwks, `s.cfg.Now().Sub(*fetched) > s.cfg.MaxKeyAge`, `false`, httpPkg, "TestVerifier_TrustsKeysForALimitedTime"},
	{"a remembered token needs its key", jwks, `err == nil && key.Equal(found.Key()) && found.Marshal().ALG.String() == alg`, `err == nil || found.Key() == nil`, httpPkg, "TestVerifier_ForgetsTokensWhoseKeyChanges"},
	{"a remembered token needs the algorithm of its key", jwks, ` && found.Marshal().ALG.String() == alg`, ``, httpPkg, "TestVerifier_ForgetsTokensWhoseKeyChanges"},
	{"a failure of the issuer has no URL", jwks, `return failed.Err`, `return failed`, httpPkg, "TestVerifier_ReportsFailuresWithoutTheURL"},
	{"an incomplete configuration is refused", auth, `if !cfg.isComplete() {`, `if false {`, httpPkg, "TestNewVerifier_RequiresEveryMember"},
	{"a remembered token expires", auth, `v.cfg.Now().Before(known.expires.Add(leeway)) && `, ``, authPkg, "TestTokens_AreRefusedWhenTheyExpire"},
	{"a token is remembered as a whole", auth, `sha256.Sum256([]byte(token))`, `sha256.Sum256([]byte(token[:min(len(token), 40)]))`, authPkg, badToken},
}

// claimMutants are about what a token says.
var claimMutants = []mutant{
	{
		"the signature is verified", auth,
		"if err != nil {\n\t\treturn verified{}, err\n\t}\n\tkey, known", "if err != nil && !errors.Is(err, jwt.ErrTokenSignatureInvalid) {\n\t\treturn verified{}, err\n\t}\n\tkey, known",
		authPkg, badToken,
	},
	{"the leeway is bounded", auth, `leeway = 30 * time.Second`, `leeway = 10 * time.Minute`, authPkg, badToken},
	{"a bad token is 401", auth, `return identity{}, errUnauthenticated()`, `return identity{}, newProblem(wire.ProblemCodeForbiddenRole, "bad token")`, authPkg, badToken},
	{"the service is not ready without keys", jwks, `return errors.New("the issuer's signing keys are not loaded")`, `return nil`, authPkg, "TestKeys_ServiceIsNotReadyWithoutThemAndRecovers"},
	{"the issuer is checked", auth, `jwt.WithIssuer(cfg.Issuer), `, ``, authPkg, badToken},
	{"the audience is checked", auth, `jwt.WithAudience(cfg.Audience),`, ``, authPkg, badToken},
	{"every token expires", auth, `jwt.WithExpirationRequired(), `, ``, authPkg, badToken},
	{"no token comes from the future", auth, `jwt.WithIssuedAt(),`, ``, authPkg, badToken},
	{"a signature has one form", auth, `, jwt.WithStrictDecoding(),`, `,`, authPkg, badToken},
	{"a token is unambiguous JSON", auth, `if !isStrictToken(token) {`, `if false {`, authPkg, badToken},
	{"a critical extension is refused", auth, `if _, critical := t.Header["crit"]; `, `if critical := false; `, authPkg, badToken},
	{"a token has an accepted type", auth, ` || !v.acceptsType(t.Header)`, ``, authPkg, badToken},
	{"a token without typ is a JWT", purpose, `typ, isText := "JWT", true`, `typ, isText := v.cfg.Types[0], true`, authPkg, "TestTokens_HaveAConfiguredType"},
	{"the lifetime is bounded", auth, `!v.boundsLifetime(claims) || `, ``, authPkg, badToken},
	{"the lifetime is bounded without iat", purpose, `issued = float64(v.cfg.Now().Add(leeway).Unix())`, `issued = expires`, authPkg, badToken},
	{"an ID token with nonce is refused", purpose, `{"nonce", `, `{`, authPkg, badToken},
	{"an ID token with at_hash is refused", purpose, `"at_hash", "events"`, `"events"`, authPkg, badToken},
	{"an event is no token", purpose, `"events", "cnf"`, `"cnf"`, authPkg, badToken},
	{"a token bound to a key is refused", purpose, `, "cnf"}`, `}`, authPkg, badToken},
	{"a subject is printable ASCII", auth, `!subjectPattern.MatchString(subject) || `, ``, authPkg, badToken},
	{"times are exact", auth, `!hasExactTimes(claims) ||`, ``, authPkg, badToken},
	{
		"a fifth role grants nothing", "internal/core/actor.go", `role := Role(name)
`, `role := Role(name)
	if name == "root" {
		return Admin, true
	}
`, authPkg, badToken,
	},
	{"a second claim grants no role", auth, `range namesIn(at) {`, `range append(namesIn(at), namesIn(claims["groups"])...) {`, authPkg, badToken},
	{"realm_access grants no role unless configured", auth, `	var roles []core.Role
`, `	var roles []core.Role
	if path != "realm_access.roles" {
		roles = rolesAt(claims, "realm_access.roles")
	}
`, authPkg, badToken},
	{"a request has one token", auth, `len(headers) != 1`, `len(headers) == 0`, authPkg, badToken},
	{"a token in the query is refused", auth, ` || r.URL.RawQuery != "" && r.URL.Query().Has("access_token")`, ``, authPkg, badToken},
	{"the scheme is Bearer", auth, `!strings.EqualFold(scheme, "Bearer")`, `scheme == ""`, authPkg, badToken},
	{"a large token is not parsed", auth, ` || len(token) > maxToken`, ``, authPkg, badToken},
}

// providerMutants are about the answers of the card provider and of the broker.
var providerMutants = []mutant{
	{
		"the provider's key follows no redirect", "internal/adapters/out/stripe/transport.go", `resp.StatusCode/100 == 3`, `false`,
		"./internal/adapters/out/stripe", "TestGateway_FollowsNoRedirect",
	},
	{
		"a redirect of the provider is not retried", "internal/adapters/out/stripe/errors.go",
		`if errors.Is(err, errRedirected) { //`, `if false { //`,
		"./internal/adapters/out/stripe", "TestGateway_FollowsNoRedirect",
	},
	{
		"the provider's responses are bounded", "internal/adapters/out/stripe/transport.go", `resp.Body, maxResponse)`, `resp.Body, 4*maxResponse)`,
		"./internal/adapters/out/stripe", "TestGateway_BoundsResponses",
	},
	{
		"an error of the provider has no address", "internal/adapters/out/stripe/errors.go", `action, connectionFailure(err))`, `action, err)`,
		"./internal/adapters/out/stripe", "TestGateway_ErrorsHaveNeitherAddressNorKey",
	},
	{
		"the row of a job has no address", "internal/adapters/out/stripe/errors.go", `action, connectionFailure(err))`, `action, err)`,
		"./internal/test/e2e/cards", "TestSettlement_RecordsNoAddressWhenItCannotConnect",
	},
	{
		"a redirect takes no job elsewhere", "internal/adapters/out/stripe/transport.go", `resp.StatusCode/100 == 3`, `false`,
		"./internal/test/e2e/cards", "TestSettlement_TakesItsKeyNowhereElse",
	},
	{
		"an error of the provider quotes no text", "internal/adapters/out/stripe/errors.go", `if plainText.MatchString(text) {`, `if true {`,
		"./internal/adapters/out/stripe", "TestGateway_ErrorsHaveNeitherAddressNorKey",
	},
	{
		"an error of the broker has no password", "internal/adapters/out/nats/connect.go", `return nil, errors.New("invalid broker URL")`, `return nil, err`,
		"./internal/adapters/out/nats", "TestConnect_ErrorsHaveNoPassword",
	},
}
