package main

// inputMutants are what a request, a page and an amount must be.
var inputMutants = []mutant{
	{
		"a body has at most 64 KiB",
		"internal/adapters/in/http/body.go",
		`maxBody = 64 << 10`, `maxBody = 64 << 20`,
		httpAPI, "TestReadBody_AcceptsOnlyCompleteJSONOfLimitedSize",
	},
	{
		"a body that is cut short does nothing",
		"internal/adapters/in/http/body.go",
		"if err != nil {\n\t\treturn nil, errBodyCutShort()", "if err != nil && false {\n\t\treturn nil, errBodyCutShort()",
		httpAPI, "TestReadBody_AcceptsOnlyCompleteJSONOfLimitedSize",
	},
	{
		"a body is declared as JSON",
		"internal/adapters/in/http/body.go",
		`if len(body) > 0 && !isJSON(r.Header) {`, `if false {`,
		httpAPI, "TestReadBody_AcceptsOnlyCompleteJSONOfLimitedSize",
	},
	{
		"a body is JSON that every parser reads in the same way",
		"internal/adapters/in/http/contract.go",
		"readJSON(body)\n\tif err != nil {", "readJSON(body)\n\tif err != nil && false {",
		httpAPI, "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"nothing follows the JSON value",
		"internal/adapters/in/http/json.go",
		`if _, err := r.ReadToken(); !errors.Is(err, io.EOF) {`, `if _, err := r.ReadToken(); !errors.Is(err, io.EOF) && false {`,
		httpAPI, "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a body is not nested deeply",
		"internal/adapters/in/http/json.go",
		`if r.StackDepth() > maxDepth {`, `if false {`,
		httpAPI, "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a number keeps its value",
		"internal/adapters/in/http/json.go",
		`if !isExact(token.String()) {`, `if false {`,
		httpAPI, "TestCheck_RefusesMalformedAndAmbiguousJSON",
	},
	{
		"a body follows the schema of the contract",
		"internal/adapters/in/http/contract.go",
		`if err := rule.validate(value); err != nil {`, `if err := rule.validate(value); false {`,
		httpAPI, "TestCheck_NamesInvalidMembers",
	},
	{
		"a refusal names a bounded number of members",
		"internal/adapters/in/http/fielderrors.go",
		`return fields[:min(len(fields), maxFieldErrors)]`, `return fields`,
		httpAPI, "TestCheck_BoundsTheNumberOfErrors",
	},
	{
		"a card number is not repeated as the name of a member",
		"internal/adapters/in/http/fielderrors.go",
		` || hasCardNumber(name)`, ``,
		httpAPI, "TestCheck_RefusesCardNumbers",
	},
	{
		"a webhook has at most 256 KiB",
		"internal/adapters/in/http/webhooks.go",
		`maxWebhook = 256 << 10`, `maxWebhook = 256 << 20`,
		"./internal/test/e2e/webhooks", "TestWebhook_HasALimitedSize",
	},
	{
		"a page has at most 100 rows",
		"internal/adapters/in/http/page.go",
		`n < 1 || n > maxLimit {`, `n < 1 {`,
		authPkg, "TestBadInput_InvalidPagesAreRefused",
	},
	{
		"a cursor is checked",
		"internal/adapters/in/http/page.go",
		`if at.Year() < 1 || at.Year() > 9999 {`, `if false {`,
		authPkg, "TestInput_ExtremeCursorsDoNotFail",
	},
	{
		"a customer id is checked",
		"internal/adapters/in/http/params.go",
		`if !subjectPattern.MatchString(id) {`, `if false {`,
		authPkg, "TestBadInput_ImpossibleIDsAreRefused",
	},
	{
		"a SKU is checked",
		"internal/adapters/in/http/params.go",
		`if !skuPattern.MatchString(sku) {`, `if false {`,
		authPkg, "TestBadInput_UnknownPathsAreRefused",
	},
	{
		"a weak entity tag matches nothing",
		"internal/adapters/in/http/etag.go",
		`if weak || err != nil`, `if err != nil`,
		httpAPI, "TestDecodeIfMatch_FollowsRFC9110",
	},
	{
		"stock is replaced only in the version that was seen",
		"internal/core/order/put_product.go",
		`case len(cmd.Versions) > 0 && !slices.Contains(cmd.Versions, p.Version):`, `case len(cmd.Versions) > 0 && !slices.Contains(cmd.Versions, p.Version) && false:`,
		useCase, "TestPutProduct_NeedsAVersionToReplaceStock",
	},
	{
		"stock is replaced only with a version",
		"internal/core/order/put_product.go",
		`case len(cmd.Versions) == 0 && cmd.OnHand != nil:`, `case false:`,
		useCase, "TestPutProduct_NeedsAVersionToReplaceStock",
	},
	{
		"If-Match creates nothing",
		"internal/core/order/put_product.go",
		`case p.New && cmd.MustExist:`, `case false:`,
		useCase, "TestPutProduct_NeedsAVersionToReplaceStock",
	},
	{
		"an amount has no sign and no exponent",
		"internal/core/money.go",
		`if !plainDecimal(amount) {`, `if false {`,
		"./internal/core", "TestParseMoneyRefuses",
	},
	{
		"an amount has the decimals of its currency",
		"internal/core/money.go",
		"if value.Scale() > currency.Decimals() {\n\t\treturn Money{}, InvalidField", "if value.Scale() > 19 {\n\t\treturn Money{}, InvalidField",
		"./internal/core", "TestParseMoneyRefuses",
	},
	{
		"a currency is in use",
		"internal/core/currency.go",
		`return Currency(code), other || usual`, `return Currency(code), other || usual || len(code) == 3`,
		"./internal/core", "TestParseMoneyRefuses",
	},
	{
		"an amount has at most 15 digits before the point",
		"internal/core/money.go",
		"if amount.Prec()-amount.Scale() > maxIntegerDigits {", "if false {",
		"./internal/core", "TestMoneyStaysWithinItsBounds",
	},
}
