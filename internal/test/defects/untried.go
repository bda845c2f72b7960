package main

// untried are defects whose entries nobody has run yet. One that `make defect` shows moves
// to the table of its area.
var untried = []defect{
	{
		name:    "pooler",
		symptom: "The service did not work behind pgbouncer in transaction mode.",
		found:   byAttack, repair: "a15ac16a94", pkg: "internal/test/e2e/cards", test: "TestService_WorksBehindATransactionPooler",
		prints: "_test.go",
		edits:  []edit{{"internal/test/e2e/cards/pooler_test.go", `"ORDERS_DATABASE_URL="+pooledURL, "ORDERS_DATABASE_POOLER=transaction")`, `"ORDERS_DATABASE_URL="+pooledURL)`}},
	},
	{
		name:    "unknown-query-parameter",
		symptom: "A misspelled filter was ignored and showed everything; of two values the service chose one.",
		found:   inReview, repair: "8fdfba1fff", pkg: "internal/test/e2e/guard", test: "TestGuard_RefusesAQueryUnderTheKey",
		prints: "_test.go",
		files:  []string{"internal/test/e2e/guard/reuse_test.go"},
	},
}
