package main

import "strings"

// The differences between the service and the copy without the business. A test makes
// the copy, builds it and runs its tests, so that it notices changes elsewhere that
// these lists have to follow.

// dropped are patterns of the business and of other ways to use the repository. A trailing slash
// means a folder. What cannot live without them follows by rule.
var dropped = []string{
	"*.md", "d[eo]*/", "lab/", "client*/", "examples/", "auth19/", ".dockerignore",
	"api/released/", "internal/new/", "internal/test/docs/",
	"cmd/orders-dev/[dfps]*", "internal/core/order/", "internal/core/payment/", "internal/core/customer/", "migrations/00[03][0234]_*",
}

// business matches the settings and routes that are gone.
const business = `ORDERS_(RESERVATION|UNPAID|STRIPE)_|/(orders|payments|refunds|customers|products|webhooks)\b`

// cut are tests that need the business, and do not name it.
var cut = strings.Fields(`
	TestLog_NamesWhatTheRequestWasAbout
	TestGuardedCommand_UnknownQueryParameterLeavesKeyFree
	TestCheck_BoundsNoBodyThatTheContractAllows TestInstance_RepeatsOnlyPlainIDsOfKnownPaths
	TestProblemsPage_ExplainsTheType TestProblemsPage_IsGenerated TestDescribe_HidesSecrets TestDescribe_ShowsEverySetting
	TestNumbers_HoldWhatAReaderMeetsFirst TestExamples_NoTwoOperationsShareAKey
	TestContract_SaysHowLongResponsesAreKept TestCheckInvariants_HasDamageForEveryInvariant
	TestCardNumber_IsRefusedInEveryTextOfABody TestGrant_WorksForAnOrdinaryOwner TestRoles_ConfineTheServiceToItsDatabase
	TestUsage_ListsEveryCommand TestConstraints_RefuseWhatTheCoreNeverWrites TestConstraints_AllHaveAViolation
	TestConstraints_RefuseAmountsThatAreNoNumbers TestUp_ValidatesTheAmountsThatAreNumbers
	`)

// keptTargets are the remaining Makefile targets and .ci/run stages.
var keptTargets = strings.Fields(`run test test-race fuzz lint format generate generated security check
	need-go tools modules`)

// keptPaths are the contract paths common to every service.
var keptPaths = []string{
	"/idempotency-keys/{key}", "/admin/audit-log", "/health/live", "/health/ready", "/openapi.yaml", "/docs", "/docs/{asset}",
}

// keptComponents are components in use without a reference from a path.
var keptComponents = []string{"responses/NotFound", "responses/MethodNotAllowed"}

// edits remove the business from shared files.
var edits = []edit{
	{"cmd/orders/app/app.go", `\n\tgateway, webhooks := .*\n.*newUseCases\(.*`, ""},
	{"cmd/orders/app/app.go", `a\.httpConfig\(onRequest, webhooks, inBackground\.payments, `, "a.httpConfig("},
	{"cmd/orders/app/app.go", `connectBroker\(inBackground, `, "connectBroker("},
	{"cmd/orders/app/app.go", `a\.jobsConfig\(inBackground, gateway, `, "a.jobsConfig("},
	{"cmd/orders/app/app.go", `(?s)// useCases are .*?\n}\n\nfunc newUseCases.*?\n}\n\n`, ""},
	{"cmd/orders/app/app.go", `core useCases, webhooks httpapi.Webhooks, events \*payment\.Service, `, ""},
	{"cmd/orders/app/app.go", `(?s)\t\tOrders:    core\.orders.*?core\.audit,\n`, "\t\tEntries: &entry.Service{Store: a.db.Entries()},\n\t\tAudit: &audit.Service{Store: a.db.Audit()},\n"},
	{"cmd/orders/app/app.go", `core/customer"`, `core/entry"`},
	{"cmd/orders/app/broker.go", `connectBroker\(core useCases, `, "connectBroker("},
	{"cmd/orders/app/broker.go", `(?s)\tconsumer, err := .*?\n\t}\n`, ""},
	{"cmd/orders/app/broker.go", `(?s)\tif b\.consumer != nil .*?\n\t}\n`, ""},
	{"cmd/orders/app/broker.go", `\tconsumer \*events.*\n`, ""},
	{"cmd/orders/app/broker.go", `b\.conn, b\.consumer = conn, consumer`, "b.conn = conn"},
	{"cmd/orders/main.go", `(?s)  orders dead-letters .*?(  orders config)`, "$1"},
	{"cmd/orders/main.go", `; orders reconcile also with 2`, ""},
	{"cmd/orders/main.go", `(?s)\t\tif errors\.Is\(err, errNotCompared\) \{.*?\t\t}\n`, ""},
	{"cmd/orders/app/log.go", `(?s)\tif cfg\.StripeKey .*?\n\t}\n`, ""},
	{"cmd/orders/app/metrics.go", `(?s)\tmismatches, age, .*?\n\t}\n`, ""},
	{"internal/observe/metrics/database.go", `(?s)\t// Mismatches is the number.*?(\t// ExcessPrivileges)`, "$1"},
	{"internal/observe/metrics/database.go", `(?s)\tmismatches = .*?(\texcessPrivileges =)`, "$1"},
	{"internal/observe/metrics/database.go", `\tch <- (mismatches|reconciliationAge|gauge\(mismatches.*)\n`, ""},
	{"internal/observe/metrics/database.go", `(?s)\tif found\.ReconciliationAge.*?\n\t}\n`, ""},
	{"internal/observe/metrics/metrics.go", `\tcards\n`, ""},
	{"internal/observe/metrics/metrics.go", `\t\tcards: +newCards.*\n`, ""},
	{"internal/observe/metrics/background.go", `\tconsumed +\*prom.*\n`, ""},
	{"internal/observe/metrics/background.go", `(?s)\t\tconsumed: create.*?"outcome"}\),\n`, ""},
	{"internal/observe/metrics/background.go", `\tpresent\(b\.consumed.*\n`, ""},
	{"internal/observe/metrics/background.go", `// MessageEnded .*\n.*\n\n`, ""},
	{"internal/config/config.go", `(?s)\t// ReservationTTL is.*?(\t// NATSURL)`, "$1"},
	{"internal/config/rules.go", `(?s)\t"ORDERS_RESERVATION_TTL.*?(\t"ORDERS_NATS_URL)`, "$1"},
	{"internal/core/ids.go", `(?s)\tOrderIDs Sequence = iota.*?\n\)`, "\tEntryIDs Sequence = iota\n)"},
	{"internal/adapters/in/http/api.go", `(?s)\tOrders    \*order.*?(\tAudit)`, "\tEntries *entry.Service\n$1"},
	{"internal/adapters/in/http/api.go", `(?s)\t// Webhooks is nil.*?(\t// Started)`, "$1"},
	{"internal/adapters/in/http/api.go", `\t// webhookBodies admits.*\n`, ""},
	{"internal/adapters/in/http/api.go", `\t+webhookBodies.*\n`, ""},
	{"internal/adapters/in/http/api.go", `"(.*)core/customer"`, `"${1}core/entry"`},
	{"internal/adapters/in/jobs/jobs.go", `(?s)\t// reservationsQueue has.*?(\t// maintenanceWorkers)`, "$1"},
	{"internal/adapters/in/jobs/jobs.go", `\tsettleWorkers .*\n`, ""},
	{"internal/adapters/in/jobs/jobs.go", `(?s)\t// ReleaseExpiredReservations releases.*?(\t// CleanIdempotency)`, "$1"},
	{"internal/adapters/in/jobs/jobs.go", `(?s)\n\t// Reconcile compares.*?SettleRefund .*?\n`, ""},
	{"internal/adapters/in/jobs/jobs.go", `\t\t\t(reservationsQueue|intentsQueue): .*\n`, ""},
	{"internal/adapters/in/jobs/jobs.go", `\taddBatchJob\(s, (releaseExpired|restoreIntents|reconcile).*\n`, ""},
	{"internal/adapters/in/jobs/jobs.go", `\taddSettle.*\n`, ""},
	{"internal/adapters/in/jobs/batch.go", `(?m)^(\t|func \()(releaseExpiredReservations|restoreIntents|reconcile|settlePayment|settleRefund)\b.*\n`, ""},
	{"internal/adapters/out/postgres/pgtx/ids.go", `(?s)\t\tcore\.OrderIDs: .*?\t}\[of\]`, "\t\tcore.EntryIDs: q.DrawEntryID,\n\t}[of]"},
	{"internal/adapters/out/postgres/pgtx/db.go", `core\.StockAdjustmentIDs`, "core.EntryIDs"},
	{"internal/adapters/out/postgres/queries/tx.sql", `(?s)\n-- name: DrawOrderID.*`, ""},
	{"migrations/grants.go", `(?m)^\t(\{table: "(balance|customer_profile|ledger_entry|order_item|payment|product|reconciliation|refund|reservation_extension|stock_adjustment)".*|\{table: "orders", insert: true,\n.*)\n`, ""},
	{"migrations/grants.go", `\t\t"GRANT SELECT ON balance, .*\n`, ""},
	{"migrations/grants.go", `(\t\{table: "idempotency_record")`, "\t{table: \"entry\", insert: true},\n$1"},
	{"migrations/grants.go", `(?s)var sequences = \[\]string\{.*?\n}`, "var sequences = []string{\"entry_id_seq\"}"},
	{"migrations/migrations.go", `(?s)\tif err := refuse[A-Za-z]+\(ctx, conn\); err != nil \{.*?\t}\n`, ""},
	{"internal/adapters/in/http/params.go", `var skuPattern .*\n`, ""},
	{"internal/adapters/in/http/params.go", `(?s)\tvar err error\n\tswitch \{\n\tcase strings.Contains\(rt.pattern, "\{sku\}"\).*?\n\t\}\n\treturn err\n`, "\treturn nil\n"},
	{"internal/adapters/in/http/problem/instance.go", `"\{order_id\}": `, `"{entry_id}":`},
	{"internal/adapters/in/http/subjects.go", `"/orders/", "order_id"`, `"/entries/", "entry_id"`},
	{"internal/adapters/in/http/subjects.go", `There are three at most: a\n// refund, its payment and their order.`, "There are three at most."},
	// the tests
	{"internal/test/architecture/architecture_test.go", `core ← order ← payment, core ← customer, core ← audit`, "core ← entry, core ← audit"},
	{"internal/test/architecture/architecture_test.go", `(?s)\t"order":    \{\},.*?\t"audit":    \{\},`, "\t\"entry\": {},\n\t\"audit\": {},"},
	{"internal/test/architecture/architecture_test.go", `(?s)\t\{\n\t\tname:     "the in-memory store.*?\n\t\},\n`, ""},
	{".golangci.yml", `core ← order ← payment, core ← customer, core ← audit`, "core ← entry, core ← audit"},
	{".golangci.yml", `(?s)        core-order:.*?(        core-customer:)`, "$1"},
	{".golangci.yml", `core-customer`, "core-entry"},
	{".golangci.yml", `internal/core/customer`, "internal/core/entry"},
	{".golangci.yml", `desc: customer knows`, "desc: entry knows"},
	{".golangci.yml", `(?s)        adapter-events:.*?(        adapter-postgres:)`, "$1"},
	{".golangci.yml", `(?s)        adapter-stripe:.*?(        adapter-nats:)`, "$1"},
	{"internal/outbox/fixture_test.go", `core/order"`, `core/entry"`},
	{"internal/outbox/fixture_test.go", `db\.Orders\(\)(.*)order\.Tx`, "db.Entries()${1}entry.Tx"},
	{"internal/adapters/in/http/guard_test.go", `"insufficient_funds": true, `, ""},
	{"internal/test/e2e/auth/access_test.go", `e2e\.StartShop\(t, nil\)`, "e2e.Start(t)"},
	{"internal/test/e2e/auth/access_test.go", `(?s) \+\n\t\t\t\(SELECT count\(\*\) FROM product .*?customer_profile\)`, ""},
	{"internal/test/e2e/rowlock.go", ` \|\| tag\.RowsAffected\(\) == 0`, ""},
	{"internal/adapters/in/jobs/batch_test.go", `releaseExpiredReservations`, "cleanOutbox"},
	{"internal/adapters/in/jobs/batch_test.go", `reservationsQueue`, `"default"`},
	{"internal/adapters/out/postgres/outbox_test.go", `core/order"`, `core/entry"`},
	{"internal/adapters/out/postgres/outbox_test.go", `order\.Tx`, "entry.Tx"},
	{"internal/adapters/out/postgres/outbox_test.go", `d\.Orders\(\)`, "d.Entries()"},
	{"internal/test/e2e/env.go", `\n\tstock +initialStock`, ""},
	{"internal/test/e2e/routes.go", `joined\(.*Routes\)`, "joined(entryRoutes, otherRoutes)"},
	{"internal/test/e2e/routes_other.go", `(?s)\t"getCustomerProfile": .*?(\t"listAuditLog")`, "$1"},
	{"internal/test/e2e/guard/replay_test.go", `createOrder`, "createEntry"},
	// the contract
	{contract, `(?s)    Create orders, reserve stock .*?them\.\n`, "    Record amounts of money: an example, to be replaced by the first resource of this service.\n"},
	{contract, `Operations that move money, and those that reserve stock or adjust it, require an`, "Operations that move money require an"},
	{contract, `(?s)    - No key stops a request.*?whatever its key\.\n`, ""},
	{contract, `, such as\n    .insufficient_funds. or .out_of_stock.,`, ""},
	{contract, `instance: /orders\b`, "instance: /entries"},
	{contract, `there is no such order`, "there is no such entry"},
	{contract, `Health checks, webhooks and`, "Health checks and"},
	{contract, `(action: )RefundPayment\n( *)resource: order/(\d+)\n *metadata: .*`, "${1}GetEntry\n${2}resource: entry/$3\n${2}metadata: {}"},
	{"redocly.yaml", `(?s)  events:\n.*?(extends:)`, "$1"},
	{"internal/adapters/in/http/wire/overlay.yaml", `(?s)  # The service reads both kinds of payments.*`, ""},
	{"internal/adapters/in/http/wire/doc.go", `//go:generate go test .*\n`, ""},
	{"Makefile", `lint generated compatible security`, "lint generated security"},
	{"Makefile", ".*lists the experiments.\\n", ""},
	{".ci/run", `generated compatible security;`, "generated security;"},
	{"cmd/orders-dev/main.go", `\tcase "replica": .*\n.*\n`, ""},
	{"cmd/orders-dev/main.go", `, a token issuer and a double of the\n// card provider`, " and a token\n// issuer"},
	{"cmd/orders-dev/main.go", `, a token issuer and a double of the card provider\)`, " and a token issuer)"},
}
