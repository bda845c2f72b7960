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
	{
		name:    "commit-without-the-standby",
		symptom: "A COMMIT whose wait for the standby was cancelled was answered 201, although a failover could lose it.",
		found:   byFault, repair: "bec812770d", pkg: "internal/test/e2e/failover", test: "TestCommand_IsUnknownWhenTheWaitForTheStandbyIsCancelled",
		prints: "POST: 201, want 503 outcome_unknown",
		files:  []string{"internal/test/e2e/failover/asynchronous_test.go", "internal/test/e2e/failover/main_test.go", "internal/test/e2e/failover/synchronous_test.go"},
	},
	{
		name:    "duplicate-without-a-share",
		symptom: "While all of a principal's share was in use, a duplicate of a running command got 503 after ten seconds and not 409.",
		found:   byTest, repair: "e7b7121165", pkg: "internal/test/e2e/limits", test: "TestDuplicates_NeedNoShare",
		prints: "the command that waits: 503 unavailable, want 409",
	},
	{
		name:    "next-key-unknown",
		symptom: "A problem did not say whether another attempt needs the same key or a new one.",
		found:   inReview, repair: "c7ed2146b1", pkg: "internal/test/e2e/commands", test: "TestErrorCodes_CanAllBeReached/out_of_stock",
		prints: `next_key is "", want "new"`,
		files:  []string{"internal/test/e2e/commands/errorcodes_test.go", "internal/test/e2e/http.go"},
	},
	{
		name:    "look-up-of-a-running-request",
		symptom: "The look-up of a key answered 404 while its command ran, which invited a new key and a second payment.",
		found:   byAttack, repair: "37c0a02452", pkg: "internal/test/e2e/guard", test: "TestGetIdempotencyKey_ReportsARunningRequest/confirmPayment",
		prints: `"detail":"there is no such idempotency key"`,
		files:  []string{"internal/test/e2e/guard/lookup_test.go"},
	},
}
