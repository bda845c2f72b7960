package main

const (
	inHTTP   = "./internal/adapters/in/http"
	canaries = "./internal/test/e2e/canaries"
)

// secretsMutants are what keeps secrets and personal data where they belong.
var secretsMutants = []mutant{
	{
		"a card number is no key",
		"internal/adapters/in/http/guard.go",
		`err == nil && hasCardNumber(key) {`, `err == nil && false {`,
		canaries, "TestCardNumber_IsRefusedAsKeyAndNotRepeated",
	},
	{
		"a card number is no text of a body",
		"internal/adapters/in/http/contract.go",
		`fields != nil {`, `fields != nil && false {`,
		inHTTP, "TestCheck_RefusesCardNumbers",
	},
	{
		"a card number is no SKU",
		"internal/adapters/in/http/params.go",
		`if cardNumberIn("sku", sku) {`, `if false {`,
		canaries, "TestCardNumber_IsRefusedAsID",
	},
	{
		"a card number is no parameter of a list",
		"internal/adapters/in/http/filters.go",
		`if cardNumberIn("reference", reference) {`, `if false {`,
		canaries, "TestCardNumber_IsRefusedAsID",
	},
	{
		"a card number is found in digits of any script",
		"internal/adapters/in/http/cardnumber.go",
		`case unicode.IsDigit(r):`, `case r >= '0' && r <= '9':`,
		inHTTP, "TestHasCardNumber_FindsNumbersAsPeopleWriteThem",
	},
	{
		"a card number is found behind invisible characters",
		"internal/adapters/in/http/cardnumber.go",
		`case unicode.In(r, unicode.Cf, unicode.M):`, `case unicode.In(r, unicode.M):`,
		inHTTP, "TestHasCardNumber_FindsNumbersAsPeopleWriteThem",
	},
	{
		"a card number is found percent-encoded",
		"internal/adapters/in/http/cardnumber.go",
		`s = percentEscape.ReplaceAllStringFunc(s, unescape)`, `return false`,
		inHTTP, "TestHasCardNumber_FindsNumbersAsPeopleWriteThem",
	},
	{
		"a generated id is no card number",
		"internal/adapters/in/http/cardnumber.go",
		`generated.ReplaceAllLiteralString(s, "x")`, `s`,
		inHTTP, "TestHasCardNumber_NeverFindsOneInGeneratedIDs",
	},
	{
		"an instance repeats plain ids only",
		"internal/adapters/in/http/instance.go",
		`if form == nil || !form.MatchString(value) ||`, `if form == nil ||`,
		inHTTP, "TestInstance_RepeatsOnlyPlainIDsOfKnownPaths",
	},
	{
		"an instance repeats known paths only",
		"internal/adapters/in/http/instance.go",
		`return "/" + hidden`, `return u.EscapedPath()`,
		inHTTP, "TestInstance_RepeatsOnlyPlainIDsOfKnownPaths",
	},
	{
		"a refusal repeats no name that looks personal",
		"internal/adapters/in/http/fielderrors.go",
		`return len(name) > maxName || strings.Contains(name, "@")`, `return name == ""`,
		inHTTP, "TestCheck_NamesInvalidMembers",
	},
	{
		"the log has no words instead of methods",
		"internal/adapters/in/http/log.go",
		`loggedMethod(method)`, `method`,
		inHTTP, "TestLog_RepeatsOnlyMethodsOfHTTP",
	},
	{
		"the log has no card number as a request ID",
		"internal/adapters/in/http/log.go",
		` && !hasCardNumber(id)`, ``,
		inHTTP, "TestLog_RepeatsNoRequestIDWithACardNumber",
	},
	{
		"the log has no subject that looks personal",
		"internal/adapters/in/http/log.go",
		`strings.ContainsAny(subject, "@+")`, `strings.ContainsAny(subject, "\x00")`,
		inHTTP, "TestLog_HashesPrincipalsThatLookPersonal",
	},
	{
		"the log has no key",
		"internal/adapters/in/http/log.go",
		`shortHash(e.key)`, `e.key`,
		canaries, "TestCanaries_StayWhereTheyBelong",
	},
	{
		"the log has no path",
		"internal/adapters/in/http/log.go",
		`l.write(entry, r.Method, ww.Status(), took)`,
		`entry.pattern += r.URL.Path; l.write(entry, r.Method, ww.Status(), took)`,
		canaries, "TestCanaries_StayWhereTheyBelong",
	},
	{
		"no cache keeps a response",
		"internal/adapters/in/http/headers.go",
		`"Cache-Control":           {"no-store"},`, ``,
		canaries, "TestHeaders_ProtectEveryResponse",
	},
	{
		"no browser guesses a media type",
		"internal/adapters/in/http/headers.go",
		`"X-Content-Type-Options":  {"nosniff"},`, ``,
		canaries, "TestHeaders_ProtectEveryResponse",
	},
	{
		"no browser runs a response",
		"internal/adapters/in/http/headers.go",
		`"Content-Security-Policy": {apiPolicy},`, ``,
		canaries, "TestHeaders_ProtectEveryResponse",
	},
	{
		"no browser frames a response",
		"internal/adapters/in/http/headers.go",
		`"X-Frame-Options":         {"DENY"},`, ``,
		canaries, "TestHeaders_ProtectEveryResponse",
	},
	{
		"no browser sends an address to others",
		"internal/adapters/in/http/headers.go",
		`"Referrer-Policy":         {"no-referrer"},`, ``,
		canaries, "TestHeaders_ProtectEveryResponse",
	},
	{
		"the documentation runs no script but its own",
		"internal/adapters/in/http/docs.go",
		`"script-src 'self'"`, `"script-src 'self' 'unsafe-inline'"`,
		inHTTP, "TestDocs_RunOnlyTheirOwnScripts",
	},
	{
		"migrate prints no end of a password",
		"migrations/migrations.go",
		`strings.Contains(cfg.ConnConfig.Host+cfg.ConnConfig.Database, "@")`, `strings.Contains("", "@")`,
		"./cmd/orders", "TestRun_PrintsNoPassword",
	},
	{
		"no command repeats a URL in a wrong place",
		"cmd/orders/main.go",
		`if strings.ContainsAny(arg, "@:= ") {`, `if strings.ContainsAny(arg, "\x00") {`,
		"./cmd/orders", "TestRun_PrintsNoPassword",
	},
}
