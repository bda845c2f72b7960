package main

// unshown are the defects that no test shows at the commit before their repair.
var unshown = []hidden{
	{
		name:    "malformed-path-stored",
		symptom: "A malformed path parameter of a guarded command was stored as its response for six hours.",
		found:   byAttack, repair: "5b08ddd6bd",
		reason: "The repair replaced the guard, and its test calls the new one.",
		today:  "`TestGuardedCommand_MalformedPathParameterLeavesKeyFree`",
	},
	{
		name:    "route-without-a-contract",
		symptom: "The service started with routes, roles or key requirements that the contract does not have.",
		found:   inReview, repair: "7e5c7bea1a",
		reason: "Nothing compared them, so there is no function that the test could call.",
		today:  "`TestCheckRoutes_RefusesOtherRoutes`",
	},
	{
		name:    "role-that-may-everything",
		symptom: "The role of the service could drop the audit log and rewrite the ledger.",
		found:   byAttack, repair: "69e99d9602",
		reason: "The service connected as the owner of the tables; the test is about a role that came with the repair.",
		today:  "`TestServiceRole_MayNot`",
	},
	{
		name:    "log-of-a-rolled-back-run",
		symptom: "The log line of a command that ran again had the problem code of the run that was rolled back.",
		found:   inReview, repair: "2aabf9a089",
		reason: "The test of the repair looks at the response, which was right before, too. No test looks at the log line.",
		today:  "`TestGuard_ForgetsRunThatWasRolledBack`, for the response",
	},
	{
		name:    "log-format-set-twice",
		symptom: "Two services in one process raced for the format of times in the log.",
		found:   byTest, repair: "330ddfde80",
		reason: "Only the race detector sees it, and not in every run.",
		today:  "`make test-race`",
	},
	{
		name:    "unbounded-response-of-the-provider",
		symptom: "A response of the provider was read whatever its size.",
		found:   byAttack, repair: "a3c68bd485",
		reason: "Its test would read a response without end, until the memory of the machine is full.",
		today:  "`TestGateway_BoundsResponses`",
	},
	{
		name:    "refund-that-came-back",
		symptom: "A refund that the provider took back days later stayed succeeded.",
		found:   byTest, repair: "4d7f3c68fa",
		reason: "Its test calls the function that came with the repair.",
		today:  "`TestRefund_IsDecidedOnceAndARefusalIsFinal`",
	},
	{
		name:    "personal-data-in-a-problem",
		symptom: "A problem repeated the whole path, whatever personal data was in it.",
		found:   byAttack, repair: "e4c10b9342",
		reason: "Its test calls the function that came with the repair.",
		today:  "`TestInstance_RepeatsOnlyPlainIDsOfKnownPaths`",
	},
	{
		name:    "nightly-reindex",
		symptom: "Every night River tried to rebuild its indexes, which the role of the service may not do.",
		found:   byTest, repair: "784cad4745",
		reason: "Its test calls the function that came with the repair.",
		today:  "`TestClient_RebuildsNoIndexes`",
	},
	{
		name:    "readiness-costs-connections",
		symptom: "Whoever called the anonymous readiness route often slowed all reads down.",
		found:   byAttack, repair: "bc5d7d678c",
		reason: "Its test calls the type that came with the repair.",
		today:  "`TestReadiness_IsCheckedOnceASecondWhateverTheLoad`",
	},
	{
		name:    "conditional-request-for-the-page",
		symptom: "The reference page answered If-Match with 412, a length and no body, which broke the connection.",
		found:   byFuzzing, repair: "81d6316d97",
		reason: "The test of the repair asked for files that are not compressed, which have no conditions. The test of today asks for compressed ones.",
		today:  "`TestDocs_LeaveConditionsAlone`",
	},
	{
		name:    "failed-commit-taken-for-unknown",
		symptom: "A COMMIT that was never sent was reported as unknown, and its key stayed in doubt.",
		found:   byTest, repair: "3fc31fcb98",
		reason: "The nearest test is about a COMMIT that the server refuses, and passes before, too.",
		today:  "`TestKey_IsFreeAfterAFailedCommit`, for a refused COMMIT",
	},
}
