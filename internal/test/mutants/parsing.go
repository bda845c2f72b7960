package main

// parsingMutants are what stands between untrusted text and the service.
var parsingMutants = []mutant{
	{
		"a body has a bounded number of values",
		"internal/adapters/in/http/json.go",
		`if r.values > maxValues {`, `if false {`,
		"./internal/adapters/in/http", "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a body has a bounded number of levels",
		"internal/adapters/in/http/json.go",
		`if r.StackDepth() > maxDepth {`, `if false {`,
		"./internal/adapters/in/http", "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a body has no duplicate member",
		"internal/adapters/in/http/json.go",
		`d.Reset(bytes.NewBuffer(body))`, `d.Reset(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))`,
		"./internal/adapters/in/http", "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a body is UTF-8",
		"internal/adapters/in/http/json.go",
		`d.Reset(bytes.NewBuffer(body))`, `d.Reset(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true))`,
		"./internal/adapters/in/http", "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a body has no data after its value",
		"internal/adapters/in/http/json.go",
		`if _, err := r.ReadToken(); !errors.Is(err, io.EOF) {`, `if _, err := r.ReadToken(); errors.Is(err, io.ErrNoProgress) {`,
		"./internal/adapters/in/http", "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a number keeps its value",
		"internal/adapters/in/http/json.go",
		`if !isExact(token.String()) {`, `if false {`,
		"./internal/adapters/in/http", "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a body has no unknown member",
		"api/openapi.yaml",
		"            $ref: '#/components/schemas/CreateOrderItem'\n      additionalProperties: false\n",
		"            $ref: '#/components/schemas/CreateOrderItem'\n",
		"./internal/adapters/in/http", "TestCheck_NamesInvalidMembers",
	},
	{
		"a refusal names a bounded number of members",
		"internal/adapters/in/http/fielderrors.go",
		`return fields[:min(len(fields), maxFieldErrors)]`, `return fields`,
		"./internal/adapters/in/http", "TestCheck_BoundsTheNumberOfErrors",
	},
	{
		"a body has a bounded size",
		"internal/adapters/in/http/body.go",
		`readUpTo(maxBody, w, r)`, `readUpTo(1<<30, w, r)`,
		"./internal/adapters/in/http", "TestReadBody_AcceptsOnlyCompleteJSONOfLimitedSize",
	},
	{
		"a body follows its schema",
		"internal/adapters/in/http/contract.go",
		`if err := rule.validate(value); err != nil {`, `if err := rule.validate(value); err != nil && false {`,
		"./internal/test/e2e/generated", "TestContract_HoldsForGeneratedRequests",
	},
	{
		"a guarded request needs a key",
		"internal/adapters/in/http/api.go",
		`if req.key, err = parseKey(w, req.http); err != nil {`, `if req.key, err = parseKey(w, req.http); err != nil && false {`,
		"./internal/test/e2e/generated", "TestContract_HoldsForGeneratedRequests",
	},
	{
		"a cursor has one spelling",
		"internal/adapters/in/http/page.go",
		`base64.RawURLEncoding.Strict().DecodeString(cursor)`, `base64.RawURLEncoding.DecodeString(cursor)`,
		"./internal/adapters/in/http", "FuzzCursor",
	},
	{
		"a cursor has no line break",
		"internal/adapters/in/http/page.go",
		` || len(cursor) != base64.RawURLEncoding.EncodedLen(16)`, ``,
		"./internal/adapters/in/http", "FuzzCursor",
	},
	{
		"a token has one reading",
		"internal/adapters/in/http/auth.go",
		`if err != nil || !isStrictJSON(raw) {`, `if err != nil || raw == nil {`,
		"./internal/adapters/in/http", "FuzzStrictToken",
	},
	{
		"a webhook is signed",
		"internal/adapters/out/stripe/webhook.go",
		`if !signed.covers(payload, w.Secret) {`, `if len(signed.hashes) == 0 {`,
		"./internal/adapters/out/stripe", "FuzzWebhook",
	},
	{
		"an amount has at most 15 digits before the point",
		"internal/core/money.go",
		`if amount.Prec()-amount.Scale() > maxIntegerDigits {`, `if false {`,
		"./internal/core", "FuzzMoneyArithmetic",
	},
	{
		"an amount is never negative",
		"internal/core/money.go",
		`if amount.IsNeg() {`, `if false {`,
		"./internal/core", "FuzzMoneyArithmetic",
	},
	{
		"a key is visible ASCII",
		"internal/idempotency/key.go",
		`if c <= ' ' || c > '~' || `, `if c <= ' ' || `,
		"./internal/idempotency", "FuzzParseKey",
	},
	{
		"a fingerprint depends on the query",
		"internal/idempotency/fingerprint.go",
		`text = appendPart(text, c.Query)`, ``,
		"./internal/adapters/in/http", "TestFingerprint_IsEqualExactlyForEqualRequests",
	},
}
