package main

// untried are defects whose entries nobody has run yet. One that `make defect` shows moves
// to the table of its area.
var untried = []defect{
	{
		name:    "stock-held-without-money",
		symptom: "A customer without money held all stock, and extended the reservations for ever.",
		found:   byAttack, repair: "054bfa1385", pkg: "internal/test/e2e/commands", test: "TestHoarding_IsBounded",
		prints: "_test.go",
		files:  []string{"internal/test/e2e/commands/hoarding_test.go"},
		edits:  []edit{{"internal/test/e2e/commands/hoarding_test.go", "if a.Config.UnpaidOrders != limit {\n\t\tt.Fatalf(\"the default is %d, want %d\", a.Config.UnpaidOrders, limit)\n\t}\n", ""}},
	},
	{
		name:    "look-up-of-a-running-request",
		symptom: "The look-up of a key answered 404 while its command ran, which invited a new key and a second payment.",
		found:   byAttack, repair: "37c0a02452", pkg: "internal/test/e2e/guard", test: "TestGetIdempotencyKey_ReportsARunningRequest/confirmPayment",
		prints: "404",
		files:  []string{"internal/test/e2e/guard/lookup_test.go"},
	},
	{
		name:    "replay-from-a-lost-database",
		symptom: "After a failover one replica replayed 201 from its memory with nothing behind it.",
		found:   byFault, repair: "bec812770d", pkg: "internal/test/e2e/failover", test: "TestReplay_ComesFromNoMemoryOfALostDatabase",
		prints: "_test.go",
		files:  []string{"internal/test/e2e/failover/asynchronous_test.go", "internal/test/e2e/failover/main_test.go", "internal/test/e2e/failover/synchronous_test.go"},
	},
	{
		name:    "commit-without-the-standby",
		symptom: "A COMMIT whose wait for the standby was cancelled was answered 201, although a failover could lose it.",
		found:   byFault, repair: "bec812770d", pkg: "internal/test/e2e/failover", test: "TestCommand_IsUnknownWhenTheWaitForTheStandbyIsCancelled",
		prints: "want 503 outcome_unknown",
		files:  []string{"internal/test/e2e/failover/asynchronous_test.go", "internal/test/e2e/failover/main_test.go", "internal/test/e2e/failover/synchronous_test.go"},
	},
	{
		name:    "duplicate-without-a-share",
		symptom: "While all of a principal's share was in use, a duplicate of a running command got 503 after ten seconds and not 409.",
		found:   byTest, repair: "e7b7121165", pkg: "internal/test/e2e/limits", test: "TestDuplicates_NeedNoShare",
		prints: "503",
	},
	{
		name:    "next-key-unknown",
		symptom: "A problem did not say whether another attempt needs the same key or a new one.",
		found:   inReview, repair: "c7ed2146b1", pkg: "internal/test/e2e/commands", test: "TestErrorCodes_CanAllBeReached/out_of_stock",
		prints: "next_key",
		files:  []string{"internal/test/e2e/commands/errorcodes_test.go", "internal/test/e2e/http.go"},
	},
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
