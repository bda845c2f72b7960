package main

// operationDefects left whoever runs the service without what they need.
var operationDefects = []defect{
	{
		name:    "card-payment-not-audited",
		symptom: "A card payment by a customer who is an administrator left no audit entry.",
		found:   inReview, repair: "83fe3f0304", pkg: "internal/test/core", test: "TestAudit_SkipsOnlyReadsOfAnAdministratorsOwnResources",
		prints: "audit log: [], want 1 entries",
	},
	{
		name:    "audit-entry-without-content",
		symptom: "Audit entries about money, lists, products and profiles did not say whose they were or how much.",
		found:   inReview, repair: "8ca02f8aa0", pkg: "internal/test/core", test: "TestAudit_SaysWhoseTheResourceIsAndWhatWasDone",
		prints: "metadata (-want +got)",
		files:  []string{"internal/test/core/audit_test.go", "internal/test/core/fixture.go", "internal/test/core/usecases_test.go"},
		edits: []edit{
			{"internal/core/metadata.go", "", "package core\n\ntype Metadata = map[string]string\n"},
			{"internal/test/core/audit_test.go", "refundMetadata(\"80.00\").With(\"previous_status\", \"paid\")", "refundMetadata(\"80.00\")"},
		},
	},
	{
		name:    "audit-log-read-unseen",
		symptom: "Reading the audit log left no audit entry.",
		found:   inReview, repair: "833b6187ae", pkg: "internal/test/core", test: "TestListAuditLog_IsAudited",
		prints: "want the entries of the reads before",
		files:  []string{"internal/test/core/audit_test.go"},
		edits: []edit{
			{"internal/test/core/audit_test.go", "t.Context(), root, core.Page{Limit: 10}", "t.Context(), core.Page{Limit: 10}"},
			{"internal/test/memory/memory.go", "// Entries returns a page", "func (s *Store) AuditEntries() []core.AuditEntry { return s.committed.Load().audit }\n\n// Entries returns a page"},
		},
	},
	{
		name:    "panic-without-a-value",
		symptom: "The log said that something had panicked, in two lines, and not what.",
		found:   inReview, repair: "f0e793d450", pkg: "internal/adapters/in/http", test: "TestPanic_IsLoggedAndHiddenFromTheClient",
		prints: "want one line",
		files:  []string{"internal/adapters/in/http/recover_test.go"},
	},
	{
		name:    "setting-named-by-a-field",
		symptom: "A bad setting was reported by the name of a Go field, without what it must be.",
		found:   inReview, repair: "a5c913422a", pkg: "internal/config", test: "TestRead_RejectsInvalidValues",
		prints: "parse error on field",
		files:  []string{"internal/config/config_test.go"},
		edits:  withoutRules,
	},
	{
		name:    "mistyped-setting",
		symptom: "A mistyped variable left its default in force without a word.",
		found:   inReview, repair: "a5c913422a", pkg: "internal/config", test: "TestRead_RefusesUnknownVariables",
		prints: "err = <nil>",
		files:  []string{"internal/config/config_test.go"},
		edits:  withoutRules,
	},
	{
		name:    "one-key-for-all-examples",
		symptom: "The reference page filled every operation with one key, so that the second one tried was 409.",
		found:   byAttack, repair: "c7a5ce06e3", pkg: "internal/test/contract", test: "TestExamples_NoTwoOperationsShareAKey",
		prints: "share the example key",
	},
	{
		name:    "schema-from-before-the-first-release",
		symptom: "Migrating a schema from before the first release failed halfway and left it dirty.",
		found:   inReview, repair: "98b535e2e4", pkg: "migrations", test: "TestUp_RefusesASchemaFromBeforeTheFirstRelease",
		prints: "err = <nil>, want",
		edits:  []edit{{"migrations/refused.go", "", "package migrations\n\nimport \"errors\"\n\nvar ErrBeforeFirstRelease = errors.New(\"never returned\")\n"}},
	},
	{
		name:    "migration-that-deadlocks",
		symptom: "Under load, `orders migrate up` could deadlock with commands, which left the schema dirty and every replica unready.",
		found:   byFault, repair: "923bc4054f", pkg: "migrations", test: "TestUp_RunsAMigrationAgainThatDeadlocksWithACommand",
		prints: "migration failed: deadlock detected",
	},
	{
		name:    "metrics-read-the-backlog",
		symptom: "Each scrape of the metrics read the whole backlog of events.",
		found:   inReview, repair: "b3abd355a9", pkg: "internal/adapters/out/postgres", test: "TestOutboxBacklog_CountsALongBacklogInPart",
		prints: "10001 events",
	},
	{
		name:    "metrics-without-a-database",
		symptom: "The metrics answered 500 and nothing else while the database was down.",
		found:   byFault, repair: "6ae26f49f6", pkg: "internal/test/e2e/process", test: "TestMetrics_SurviveTheDatabase",
		prints: "metrics: status 500",
		files:  []string{"internal/test/e2e/process/metrics_test.go"},
	},
	{
		name:    "reconciliation-of-one-replica",
		symptom: "Only the replica that ran the reconciliation reported its mismatches; all others reported 0.",
		found:   inReview, repair: "ad2f408819", pkg: "internal/test/e2e/process", test: "TestMetrics_ReportReconciliationOnEveryReplica",
		prints: "the second replica reports no mismatch",
		files:  []string{"internal/test/e2e/process/metrics_test.go"},
		edits:  secondReplica,
	},
	{
		name:    "plain-text-in-the-log",
		symptom: "Libraries wrote plain text between the JSON lines of the log.",
		found:   inReview, repair: "3fda15bc1d", pkg: "internal/test/e2e/process", test: "TestLog_HasOnlyLinesOfJSON",
		prints: "invalid character '/' after top-level value in the line",
	},
	{
		name:    "database-url-of-one-command",
		symptom: "`orders migrate` refused a database URL with the size of the pool, which `orders serve` accepted.",
		found:   byAttack, repair: "710973498d", pkg: "internal/test/e2e/process", test: "TestDatabaseURL_WorksForEveryCommand",
		prints: `unrecognized configuration parameter "pool_`,
		edits:  []edit{{"internal/test/e2e/process/command_test.go", "cmd.Output()\n\tif err != nil {\n\t\tt.Fatalf(\"%s: %v\", cmd, err)", "cmd.CombinedOutput()\n\tif err != nil {\n\t\tt.Fatalf(\"%s: %v: %s\", cmd, err, out)"}},
	},
	{
		name:    "example-that-does-not-exist",
		symptom: "The product of the examples did not exist after `make run`.",
		found:   byAttack, repair: "c7a5ce06e3", pkg: "cmd/orders-dev", test: "TestDev_RunsTheServiceTwiceOnTheSameData",
		prints: "status 404 for the product of the session",
		files:  []string{"cmd/orders-dev/dev_test.go"},
		edits:  []edit{{"cmd/orders-dev/names.go", "", "package main\n\n// seedSKU is the product of the examples.\nconst seedSKU = \"tea-earl-grey\"\n"}},
	},
	{
		name:    "arguments-ignored",
		symptom: "`orders serve` ignored arguments that it does not take, so a misplaced flag went unnoticed.",
		found:   inReview, repair: "ac0105dd2e", pkg: "cmd/orders", test: "TestRun_ReportsWrongArgumentsInOneLine/serve_--dir_x",
		prints: "err = the configuration has problems",
	},
	{
		name:    "pooler",
		symptom: "The service did not work behind pgbouncer in transaction mode.",
		found:   byAttack, repair: "a15ac16a94", pkg: "internal/test/e2e/cards", test: "TestService_WorksBehindATransactionPooler",
		prints: "unsupported startup parameter",
		edits: []edit{
			shorterWait,
			{"internal/test/e2e/cards/pooler_test.go", `"ORDERS_DATABASE_URL="+pooledURL, "ORDERS_DATABASE_POOLER=transaction")`, `"ORDERS_DATABASE_URL="+pooledURL)`},
		},
	},
}

// withoutRules is what the tests of settings call, and what settings had before: no rules.
var withoutRules = []edit{{"internal/config/rules.go", "", `package config

import "reflect"

var rules map[string]string

func variable(reflect.StructField) string { return "" }

func variables() []string { return nil }

func CheckNames([]string) error { return nil }
`}}

// secondReplica asks the second replica once, instead of until the test ends, for the
// metric under its old name.
var secondReplica = []edit{{
	file: "internal/test/e2e/process/metrics_test.go",
	before: `	for range 2 {
		admin := e2e.FreeAddr(t)
		env.StartProcess(t, binary, "ORDERS_ADMIN_ADDR="+admin)
		awaitMetric(t, admin, "orders_reconciliation_mismatches 1")
	}
`,
	after: `	first, second := e2e.FreeAddr(t), e2e.FreeAddr(t)
	env.StartProcess(t, binary, "ORDERS_ADMIN_ADDR="+first)
	awaitMetric(t, first, "orders_reconciliation_differences 1")
	env.StartProcess(t, binary, "ORDERS_ADMIN_ADDR="+second)
	if _, metrics := get(t, "http://"+second+"/metrics"); !strings.Contains(metrics, "orders_reconciliation_differences 1\n") {
		t.Error("the second replica reports no mismatch")
	}
`,
}}
