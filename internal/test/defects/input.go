package main

// inputDefects treated what somebody sent in the wrong way.
var inputDefects = []defect{
	{
		name:    "webhook-of-an-unexpected-shape",
		symptom: "A signed event whose id is no text was answered 400, so that the provider sent it for three days.",
		found:   byFuzzing, repair: "87e3f98ffa", pkg: "internal/adapters/out/stripe", test: "TestParse_RejectsUnreadableEvents",
		prints: "parsed as {EventID:{Source: ID:}",
		files:  []string{"internal/adapters/out/stripe/webhook_test.go"},
	},
	{
		name:    "two-principals-one-scope",
		symptom: "Scopes of two different principals could be equal where a part contains a space.",
		found:   inReview, repair: "454d3637e6", pkg: "internal/idempotency", test: "TestNewScope_DiffersForDifferentParts",
		prints: "are both the scope",
	},
	{
		name:    "decline-code-too-long",
		symptom: "A long decline code of the provider was kept as it was, and responses with it contradicted the contract.",
		found:   byAttack, repair: "835d1242a0", pkg: "internal/test/e2e/webhooks", test: "TestWebhook_WithALongReasonFailsThePayment",
		prints: "want failed because of unknown_reason",
		files:  []string{"internal/test/e2e/webhooks/rejected_test.go"},
	},
	{
		name:    "webhook-retried-for-ever",
		symptom: "Signed webhooks that nobody can take were refused, so that the provider sent them for ever.",
		found:   byAttack, repair: "835d1242a0", pkg: "internal/test/e2e/webhooks", test: "TestWebhook_ThatNobodyCanTakeIsAcknowledged",
		prints: "want 200",
		files:  []string{"internal/test/e2e/webhooks/rejected_test.go"},
	},
	{
		name:    "zero-refused",
		symptom: "0e-1 was refused as a number that is too precise.",
		found:   byFuzzing, repair: "ecce35278e", pkg: "internal/adapters/in/http", test: "TestCheck_ReadsEveryNotationOfZero",
		prints: "0E-1: got , malformed_request",
	},
	{
		name:    "many-texts-of-one-cursor",
		symptom: "Sixteen texts, and any number with line breaks, were one cursor.",
		found:   byFuzzing, repair: "38e68cced3", pkg: "internal/adapters/in/http", test: "FuzzCursor",
		prints: `"AAAAAAAAAAAAAAAAAAAAAB" is read as the cursor`,
		files:  []string{"internal/adapters/in/http/fuzz_test.go"},
	},
	{
		name:    "costly-body",
		symptom: "A body of 10 000 empty objects took 47 ms to refuse.",
		found:   byAttack, repair: "4dac6f5933", pkg: "internal/adapters/in/http", test: "TestCheck_RefusesMalformedAndAmbiguousJSON",
		prints: "FAIL: TestCheck_RefusesMalformedAndAmbiguousJSON/10000_empty_objects",
		files:  []string{"internal/adapters/in/http/contract_test.go"},
		edits:  []edit{{"internal/adapters/in/http/contract_test.go", "maxValues - 1", "499"}},
	},
	{
		name:    "unknown-query-parameter",
		symptom: "A misspelled filter was ignored and showed everything; of two values the service chose one.",
		found:   inReview, repair: "8fdfba1fff", pkg: "internal/test/e2e/auth", test: "TestLog_ContainsNoSecrets/an_unknown_parameter",
		prints: "status 200, want 422: {",
		files:  []string{"internal/test/e2e/auth/log_test.go"},
	},
}
