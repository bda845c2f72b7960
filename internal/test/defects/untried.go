package main

// untried are defects whose entries nobody has run yet. One that `make defect` shows moves
// to the table of its area.
var untried = []defect{
	{
		name:    "reads-behind-waiting-commands",
		symptom: "While commands waited for a standby that was gone, reads got no connection and every replica became unready.",
		found:   byFault, repair: "2f97dbfa25", pkg: "internal/test/e2e/process", test: "TestReads_GoOnWhileCommandsWaitForTheStandby",
		prints: "_test.go",
		files:  []string{"internal/test/e2e/process/database_test.go"},
	},
	{
		name:    "reservations-behind-broken-orders",
		symptom: "500 orders that could not be released kept the stock of all younger ones reserved.",
		found:   inReview, repair: "063332f26f", pkg: "internal/test/e2e/process", test: "TestJobs_BrokenOrdersDoNotFillTheBatches",
		prints: "is released",
		files:  []string{"internal/test/e2e/process/jobs_test.go"},
		edits: []edit{
			{"internal/test/e2e/process/jobs_test.go", "jobs.InOrder(e2e.OrderService(db).ReleaseExpiredReservations)", "e2e.OrderService(db).ReleaseExpiredReservations"},
			{"internal/test/e2e/process/jobs_test.go", "_, n, err := e2e.OrderService(s.OpenStore(t)).ReleaseExpiredReservations(t.Context(), order.Expiry{}, 10)", "n, err := e2e.OrderService(s.OpenStore(t)).ReleaseExpiredReservations(t.Context(), 10)"},
			{"internal/test/e2e/process/jobs_test.go", "\t\"example.com/orders/internal/core/order\"\n", ""},
		},
	},
	{
		name:    "pooler",
		symptom: "The service did not work behind pgbouncer in transaction mode.",
		found:   byAttack, repair: "a15ac16a94", pkg: "internal/test/e2e/cards", test: "TestService_WorksBehindATransactionPooler",
		prints: "_test.go",
		edits:  []edit{{"internal/test/e2e/cards/pooler_test.go", `"ORDERS_DATABASE_URL="+pooledURL, "ORDERS_DATABASE_POOLER=transaction")`, `"ORDERS_DATABASE_URL="+pooledURL)`}},
	},
	{
		name:    "one-principal-takes-all-connections",
		symptom: "Beside 200 clients of one principal on one order, the look-up of a key by somebody else took 500 times as long.",
		found:   byAttack, repair: "4037ef49b5", pkg: "internal/test/e2e/limits", test: "TestCommands_OfOnePrincipalLeaveConnectionsToOthers",
		prints: "_test.go",
	},
	{
		name:    "plans-of-empty-tables",
		symptom: "Plans that were made for an empty table read all of it when it had grown.",
		found:   inReview, repair: "75d6de4754", pkg: "internal/adapters/out/postgres", test: "TestAKeyIsFoundByIndexInATableThatWasEmpty",
		prints: "_test.go", now: "internal/adapters/out/postgres.TestEveryQueryReadsLittleOfLargeTables",
	},
	{
		name:    "clean-up-reads-the-table",
		symptom: "Clean-up read the whole table for each batch and cost a third of the throughput.",
		found:   byTest, repair: "b0af9f6400", pkg: "internal/adapters/out/postgres", test: "TestCleanUpReadsOnlyWhatItRemoves",
		prints: "_test.go",
	},
	{
		name:    "pages-read-the-table",
		symptom: "A page of products or of the audit log read everything before it.",
		found:   inReview, repair: "f523551ed1", pkg: "internal/adapters/out/postgres", test: "TestEveryQueryReadsLittleOfLargeTables",
		prints: "_test.go", from: "d443c6385b",
	},
	{
		name:    "unknown-query-parameter",
		symptom: "A misspelled filter was ignored and showed everything; of two values the service chose one.",
		found:   inReview, repair: "8fdfba1fff", pkg: "internal/test/e2e/guard", test: "TestGuard_RefusesAQueryUnderTheKey",
		prints: "_test.go",
		files:  []string{"internal/test/e2e/guard/reuse_test.go"},
	},
}
