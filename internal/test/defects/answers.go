package main

// answerDefects told clients what was not so.
var answerDefects = []defect{
	{
		name:    "commit-answered-by-a-pooler",
		symptom: "An error that a pooler sent in reply to COMMIT was taken for a rollback, although the server may have committed.",
		found:   byAttack, repair: "0315fc7c17", pkg: "internal/adapters/out/postgres", test: "TestCommit_IsUnknownWhenAPoolerAnswersForTheServer",
		prints: "want one, of unknown outcome",
	},
	{
		name:    "errors-in-another-language",
		symptom: "A server that speaks another language made every error look fatal, and its outcome unknown.",
		found:   inReview, repair: "0315fc7c17", pkg: "internal/adapters/out/postgres", test: "TestServerErrors_AreClassifiedInEveryLanguage",
		prints: "got outcome of the commit unknown",
	},
	{
		name:    "defect-told-as-unavailable",
		symptom: "A row that could not be scanned was answered 503, and clients retried what could not succeed.",
		found:   inReview, repair: "b10a0206f1", pkg: "internal/adapters/out/postgres", test: "TestDefects_AreNotUnavailable",
		prints: "can't scan",
	},
	{
		name:    "payments-of-two-moments",
		symptom: "Reading payments panicked when a refund was younger than the payments that were read with it.",
		found:   byTest, repair: "3fc31fcb98", pkg: "internal/adapters/out/postgres", test: "TestPaymentsAndRefundsAreOfOneMoment",
		prints: "tx_test.go:547", now: "internal/adapters/out/postgres.TestPayments_AreReadWithTheirRefunds",
	},
	{
		name:    "oldest-payment-first",
		symptom: "Lists of payments and ledger entries did not begin with the newest, and the newest entry showed another balance than the account.",
		found:   inReview, repair: "2a79cb9304", pkg: "internal/test/e2e/commands", test: "TestListBalanceTransactions_BeginsWithTheLastChangeOfABalance",
		prints: "the list begins with a credit, want the payment",
		files:  []string{"internal/test/e2e/commands/lists_test.go"},
	},
	{
		name:    "commands-on-a-standby",
		symptom: "A service whose address led to a read-only database answered 500 and was ready.",
		found:   byFault, repair: "9a95372fb1", pkg: "internal/test/e2e/process", test: "TestService_OnStandbyIsUnavailableAndNotReady",
		prints: "cancelOrder: 500 internal, want 503 unavailable",
		files:  []string{"internal/test/e2e/process/database_test.go"},
	},
	{
		name:    "commands-on-a-read-only-database",
		symptom: "A service on a database with read-only transactions answered 500 and was ready.",
		found:   byFault, repair: "9a95372fb1", pkg: "internal/test/e2e/process", test: "TestService_WithReadOnlyTransactionsIsUnavailableAndNotReady",
		prints: "cancelOrder: 500 internal, want 503 unavailable",
		files:  []string{"internal/test/e2e/process/database_test.go"},
	},
	{
		name:    "look-up-before-the-standby",
		symptom: "The look-up of a key reported 201 for a command that a failover then lost.",
		found:   byFault, repair: "1f63373f2e", pkg: "internal/test/e2e/failover", test: "TestGetIdempotencyKey_ReportsNothingThatAFailoverLoses",
		prints: `200 "", want 503 "outcome_unknown"`,
	},
}
