package main

import "strings"

// What a service without the business has and lacks. A test makes the copy, builds it and
// runs its tests, so that a change elsewhere which these lists have to follow is noticed.

// dropped are the files of the business, as patterns; one that ends in a slash stands for
// a folder.
var dropped = []string{
	// other ways to use the repository, and what describes the business
	"bench/", "client/", "clients/", "docs/", "examples/", "internal/new/", "internal/test/docs/",
	"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "api/asyncapi.yaml", "api/released/",
	"internal/test/alerts/",
	// the core
	"internal/core/order/", "internal/core/payment/", "internal/core/customer/", "internal/core/codes.go",
	// adapters: what comes in
	"internal/adapters/in/events/", "internal/adapters/in/jobs/settle.go",
	"internal/adapters/in/http/balance.go", "internal/adapters/in/http/customers.go", "internal/adapters/in/http/etag*.go",
	"internal/adapters/in/http/orders.go", "internal/adapters/in/http/payments.go",
	"internal/adapters/in/http/products.go", "internal/adapters/in/http/webhooks.go",
	// adapters: what goes out
	"internal/adapters/out/stripe/", "internal/adapters/out/postgres/balance.go", "internal/adapters/out/postgres/grant*.go",
	"internal/adapters/out/postgres/group_load.go", "internal/adapters/out/postgres/group_state.go",
	"internal/adapters/out/postgres/group_rows.go", "internal/adapters/out/postgres/group*_test.go",
	"internal/adapters/out/postgres/intents*.go", "internal/adapters/out/postgres/ledger.go",
	"internal/adapters/out/postgres/order*.go", "internal/adapters/out/postgres/payment.go",
	"internal/adapters/out/postgres/product.go", "internal/adapters/out/postgres/profile.go",
	"internal/adapters/out/postgres/reconcile*.go", "internal/adapters/out/postgres/refund.go",
	"internal/adapters/out/postgres/reservation.go", "internal/adapters/out/postgres/stock_adjustment.go",
	"internal/adapters/out/postgres/*/balance.sql*", "internal/adapters/out/postgres/*/order.sql*",
	"internal/adapters/out/postgres/*/payment.sql*", "internal/adapters/out/postgres/*/product.sql*",
	"internal/adapters/out/postgres/*/profile.sql*", "internal/adapters/out/postgres/*/reconcile.sql*",
	"migrations/0002_*", "migrations/0003_*", "migrations/0004_*", "migrations/0008_*", "migrations/001[0-69]_*", "migrations/002[01]_*",
	// development servers
	"cmd/orders/app/cards.go", "internal/telemetry/cards.go", "internal/dev/fakestripe/",
	"cmd/orders-dev/dev*.go", "cmd/orders-dev/seed*.go", "cmd/orders-dev/faults*.go", "cmd/orders-dev/servers.go", "cmd/orders-dev/pages*.go", "cmd/orders-dev/examples_test.go", "cmd/orders-dev/docs.js", "cmd/orders-dev/play/",
	// tests that are about the business
	"internal/test/browser/", "internal/test/core/", "internal/test/memory/", "internal/test/model/", "internal/test/mutants/", "internal/test/spin/", "internal/test/defects/", "internal/test/faults/", "internal/test/history/", "internal/test/sabotage/", "internal/test/grouped/", "internal/test/e2e/races/crowd_test.go", "internal/test/overlay/",
	"internal/test/lossy/", "internal/test/store/", "internal/test/upgrade/", "internal/test/rolling/",
	// deployment: settings of cards and figures of this service
	"deploy/", "cmd/orders-cluster/", "internal/dev/cluster/", "internal/test/deploy/", "internal/test/image/", ".dockerignore",
	"internal/adapters/out/postgres/bounds_test.go", "internal/adapters/out/postgres/locks_test.go",
	"internal/adapters/out/postgres/roundtrips_test.go", "internal/adapters/out/postgres/tx_test.go",
	"internal/adapters/out/postgres/queryplan*_test.go", "internal/adapters/out/postgres/commit_test.go", "internal/adapters/out/postgres/durability_test.go",
	"internal/adapters/out/postgres/recent_test.go", "internal/adapters/out/postgres/servers_test.go", "internal/adapters/out/postgres/standby_test.go", "internal/adapters/out/postgres/observe_test.go", "internal/adapters/out/postgres/statistics_test.go",
	"internal/test/contract/*_test.go", "internal/test/contract/asyncapi.go",
	"internal/test/e2e/routes_money.go", "internal/test/e2e/routes_orders.go", "internal/test/e2e/routes_products.go",
	"internal/test/e2e/shop.go", "internal/test/e2e/calls.go", "internal/test/e2e/cards.go", "internal/test/e2e/cardprovider.go", "internal/test/e2e/bodies.go", "internal/test/e2e/invariants*.go",
	"internal/test/e2e/load.go", "internal/test/e2e/stream.go",
	"internal/test/e2e/canaries/", "internal/test/e2e/cards/", "internal/test/e2e/commands/", "internal/test/e2e/cuts/", "internal/test/e2e/failover/",
	"internal/test/e2e/generated/", "internal/test/e2e/limits/", "internal/test/e2e/metrics/", "internal/test/e2e/process/",
	"internal/test/e2e/client/", "internal/test/e2e/traces/", "internal/test/collector/", "internal/test/e2e/guard/route_test.go", "internal/test/e2e/guard/history_test.go", "internal/test/e2e/guard/obedience_test.go", "internal/test/e2e/transport/", "internal/test/e2e/webhooks/", "internal/test/tsclient/", "internal/test/e2e/auth/bad*_test.go", "internal/test/e2e/auth/log_test.go",
	"internal/test/e2e/auth/key*_test.go", "internal/test/e2e/auth/tokens_test.go",
	"internal/adapters/in/jobs/jobs_test.go", "internal/adapters/in/jobs/log_test.go", "migrations/constraints_test.go", "internal/config/describe_test.go",
	"internal/adapters/in/http/bounds_test.go", "internal/adapters/in/http/subjects_test.go", "internal/adapters/in/http/decode_test.go", "internal/adapters/in/http/fuzz_test.go",
	"internal/adapters/in/http/instance_test.go", "internal/adapters/in/http/query_test.go", "internal/adapters/in/http/problems.txt", "internal/adapters/in/http/problems_test.go",
}

// moves are migrations that get another number, because those between them are gone.
var moves = map[string]string{
	"migrations/0005_": "migrations/0003_", "migrations/0006_": "migrations/0004_",
	"migrations/0007_": "migrations/0005_", "migrations/0009_": "migrations/0006_",
	"migrations/0017_": "migrations/0007_", "migrations/0018_": "migrations/0008_",
}

// keptTargets are the targets of the Makefile, and the stages of .ci/run, that are left.
var keptTargets = strings.Fields(`help run test test-race fuzz lint format generate check format-check vet architecture
	tidy-check generated openapi secrets vulnerabilities need-go tools modules`)

// keptPaths are the paths of the contract that belong to every service.
var keptPaths = []string{
	"/idempotency-keys/{key}", "/admin/audit-log", "/health/live", "/health/ready", "/openapi.yaml", "/docs", "/docs/{asset}",
}

// keptComponents are those that the service uses although no path refers to them.
var keptComponents = []string{"responses/NotFound", "responses/MethodNotAllowed"}

// cuts are the declarations that files lose.
var cuts = map[string]string{
	"internal/test/e2e/service.go":              "StartShop StartTwoReplicas StockUp ReleaseExpiredReservations KeepReleasing OrderService",
	"internal/test/e2e/routes_other.go":         "ProfileBody profile deleteProfile getIdempotencyKey",
	"internal/test/e2e/guard/expiry_test.go":    "TestGuard_RunsNothingUnderASpentKey",
	"internal/test/e2e/guard/lookup_test.go":    "TestGetIdempotencyKey_ParsesTheKeyAsTheHeaderIsParsed",
	"internal/test/e2e/guard/replay_test.go":    "TestGuard_ReplaysWhenNumberIsWrittenDifferently",
	"internal/adapters/in/http/params.go":       "decodeOrderID decodePaymentID decodeRefundID decodeSKU decodeCustomerID checkCustomerID",
	"internal/test/e2e/guard/reuse_test.go":     "TestGuard_RefusesSameItemsInAnotherOrder TestGuard_RefusesAnotherCommandUnderTheKey",
	"internal/test/e2e/races/guard_test.go":     "TestConfirmPayment_PaysOrderOnceWhateverTheKeys TestGuard_DuplicatesWaitWithoutConnection wantOnlyConnectionsInUse",
	"internal/adapters/in/http/problem_test.go": "TestProblemKinds_AgreeWithTheContract TestProblemOf_KnowsEveryCodeOfTheCore",
	"migrations/grants_test.go": "forbidden TestServiceRole_MayNot TestServiceRole_CannotGrantItselfAnything " +
		"TestGrant_RevokesWhatIsNotListed TestGrant_WorksForAnOrdinaryOwner TestCheckPrivileges_NamesWhatIsMissing TestCheckPrivileges_NamesWhatIsTooMuch",
	"migrations/migrations_test.go": "TestUp_RefusesASchemaFromBeforeTheFirstRelease TestUp_MigratesADatabaseWithATableMovement " +
		"TestUp_RefusesToRenamePaymentsThatAreProcessing TestUp_PlacesLedgerEntriesInTheOrderOfTheirBalances " +
		"TestUp_ForgetsTheStatisticsOfProfiles TestUp_FailsWhenReferencesAreNotUnique " +
		"TestUp_GivesProfilesATimeOfCreation TestSequences_EndBeforeIDsThatClientsCannotRead",
	"internal/test/e2e/auth/access_test.go": "TestAccess_AdministratorsReadTheirOwnWithoutAudit",
	// A command that only inserts sends its first write together with COMMIT: a connection
	// that breaks then leaves the outcome unknown.
	"internal/test/e2e/races/client_test.go": "TestGuard_LeavesKeyFreeWhenConnectionBreaks",
	"internal/adapters/in/http/contract_test.go": "TestContract_KnowsWhichOperationsHaveBodies TestCheck_ReturnsCanonicalForm " +
		"TestCheck_ReadsEveryNotationOfZero TestCheck_TreatsAbsentOptionalBodyAsEmptyObject TestCheck_RefusesMalformedAndAmbiguousJSON " +
		"TestCheck_NamesInvalidMembers TestCheck_BoundsTheNumberOfErrors TestCheck_NeverEchoesValues TestCheck_RefusesCardNumbers",
	"internal/adapters/in/http/routes_test.go": "TestCheckRoutes_RefusesOtherRoutes TestCheckRoutes_RefusesOperationWithoutRoute TestNew_RefusesOtherContract",
	"internal/adapters/in/http/guard_test.go":  "TestGuard_RefusesKeyOfAnotherRequest",
	"internal/core/audit.go":                   "WithAmount",
	"internal/config/rules.go":                 "isBound",
	"migrations/migrations.go":                 "ErrBeforeFirstRelease ErrUnsettledCards refuseBeforeFirstRelease refuseUnsettledCards",
}

// edits take the business out of files that are about something else.
var edits = []edit{
	{"cmd/orders/app/app.go", `\n\tgateway, webhooks := .*\n.*newUseCases\(.*`, ""},
	{"cmd/orders/app/app.go", `a\.httpConfig\(onRequest, webhooks, inBackground\.payments, `, "a.httpConfig("},
	{"cmd/orders/app/app.go", `connectBroker\(inBackground, `, "connectBroker("},
	{"cmd/orders/app/app.go", `a\.jobsConfig\(inBackground, gateway, `, "a.jobsConfig("},
	{"cmd/orders/app/app.go", `(?s)// useCases are .*?\n}\n\nfunc newUseCases.*?\n}\n\n`, ""},
	{"cmd/orders/app/app.go", `core useCases, webhooks httpapi.Webhooks, events \*payment\.Service, `, ""},
	{"cmd/orders/app/app.go", `(?s)\t\tOrders:    core\.orders.*?core\.audit,\n`, "\t\tEntries: &entry.Service{Store: a.db.Entries()},\n\t\tAudit: &audit.Service{Store: a.db.Audit()},\n"},
	{"cmd/orders/app/app.go", `\t\tWebhooks: .*\n`, ""},
	{"cmd/orders/app/app.go", `core/customer"`, `core/entry"`},
	{"cmd/orders/app/broker.go", `connectBroker\(core useCases, `, "connectBroker("},
	{"cmd/orders/app/broker.go", `(?s)\tconsumer, err := .*?\n\t}\n`, ""},
	{"cmd/orders/app/broker.go", `\tconsumer \*events.*\n`, ""},
	{"cmd/orders/app/broker.go", `conn, relay, consumer`, "conn, relay"},
	{"cmd/orders/app/broker.go", `.*b\.consumer\.Run.*\n`, ""},
	{"cmd/orders/app/metrics.go", `(?s)\tmismatches, age, .*?\n\t}\n`, ""},
	{"cmd/orders/app/metrics.go", `\t\tMismatches: mismatches, ReconciliationAge: age,\n`, ""},
	{"cmd/orders/migrate.go", `(?s)\terr := migrations\.Up\(ctx, url\)\n.*?if err != nil {`, "\tif err := migrations.Up(ctx, url); err != nil {"},
	{"internal/telemetry/database.go", `(?s)\t// Mismatches is how.*?(\t// ExcessPrivileges)`, "$1"},
	{"internal/telemetry/database.go", `(?s)\tmismatches = .*?(\texcessPrivileges =)`, "$1"},
	{"internal/telemetry/database.go", `\tch <- (mismatches|reconciliationAge|gauge\(mismatches.*)\n`, ""},
	{"internal/telemetry/database.go", `(?s)\tif found\.ReconciliationAge.*?\n\t}\n`, ""},
	{"internal/telemetry/telemetry.go", `\tcards\n`, ""},
	{"internal/telemetry/telemetry.go", `\t\tcards: +newCards.*\n`, ""},
	{"internal/telemetry/background.go", `the relay, the consumer of\n// messages, and the`, "the relay, and the"},
	{"internal/telemetry/background.go", `\tconsumed +\*prom.*\n`, ""},
	{"internal/telemetry/background.go", `(?s)\t\tconsumed: create.*?"outcome"}\),\n`, ""},
	{"internal/telemetry/background.go", `\tpresent\(b\.consumed.*\n`, ""},
	{"internal/telemetry/background.go", `// MessageEnded .*\n.*\n\n`, ""},
	{"internal/config/config.go", `(?s)\t// ReservationTTL is.*?(\t// NATSURL)`, "$1"},
	{"internal/config/rules.go", `(?s)\t"ORDERS_RESERVATION_TTL.*?(\t"ORDERS_NATS_URL)`, "$1"},
	{"internal/core/ids.go", `(?s)\tOrderIDs Sequence = iota.*?\n\)`, "\tEntryIDs Sequence = iota\n)"},
	{"internal/adapters/in/http/api.go", `(?s)\tOrders    \*order.*?(\tAudit)`, "\tEntries *entry.Service\n$1"},
	{"internal/adapters/in/http/api.go", `(?s)\t// Webhooks is nil.*?(\t// Started)`, "$1"},
	{"internal/adapters/in/http/api.go", `\t// webhookBodies admits.*\n`, ""},
	{"internal/adapters/in/http/api.go", `\t+webhookBodies.*\n`, ""},
	{"internal/adapters/in/http/api.go", `\t"golang.org/x/sync/semaphore"\n`, ""},
	{"internal/adapters/in/http/api.go", `customers "(.*)core/customer"`, `"${1}core/entry"`},
	{"internal/adapters/in/jobs/jobs.go", `(?s)\t// reservationsQueue has.*?(\t// maintenanceWorkers)`, "$1"},
	{"internal/adapters/in/jobs/jobs.go", `\tsettleWorkers .*\n`, ""},
	{"internal/adapters/in/jobs/jobs.go", `(?s)\t// ReleaseExpiredReservations returns.*?(\t// CleanIdempotency)`, "$1"},
	{"internal/adapters/in/jobs/jobs.go", `(?s)\n\t// Reconcile compares.*?SettleRefund .*?\n`, ""},
	{"internal/adapters/in/jobs/jobs.go", `\t\t\t(reservationsQueue|intentsQueue): .*\n`, ""},
	{"internal/adapters/in/jobs/jobs.go", `\taddBatchJob\(s, (releaseExpired|restoreIntents|reconcile).*\n`, ""},
	{"internal/adapters/in/jobs/jobs.go", `\taddSettle.*\n`, ""},
	{"internal/adapters/in/jobs/batch.go", `(?m)^(\t|func \()(releaseExpiredReservations|restoreIntents|reconcile|settlePayment|settleRefund)\b.*\n`, ""},
	{"internal/adapters/out/postgres/ids.go", `(?s)\t\tcore\.OrderIDs: .*?\t}\[of\]`, "\t\tcore.EntryIDs: q.DrawEntryID,\n\t}[of]"},
	{"internal/adapters/out/postgres/db.go", `core\.StockAdjustmentIDs`, "core.EntryIDs"},
	{"internal/adapters/out/postgres/queries/tx.sql", `(?s)\n-- name: DrawOrderID.*`, ""},
	{"migrations/grants.go", `(?m)^\t(\{table: "(balance|customer_profile|ledger_entry|order_item|payment|product|reconciliation|refund|reservation_extension|stock_adjustment)".*|\{table: "orders", insert: true,\n.*)\n`, ""},
	{"migrations/grants.go", `(\t\{table: "idempotency_record")`, "\t{table: \"entry\", insert: true},\n$1"},
	{"migrations/grants.go", `(?s)var sequences = \[\]string\{.*?\n}`, "var sequences = []string{\"entry_id_seq\"}"},
	{"migrations/migrations.go", `(?s)\tif err := refuse[A-Za-z]+\(ctx, conn\); err != nil \{.*?\t}\n`, ""},
	{"sqlc.yaml", `(?s)          - column: payment\.uuid.*?(          - db_type: timestamptz)`, "$1"},
	{"internal/adapters/in/http/params.go", `\tskuPattern .*\n`, ""},
	{"internal/adapters/in/http/instance.go", `"\{order_id\}": `, `"{entry_id}":`},
	{"internal/adapters/in/http/subjects.go", `"/orders/", "order_id"`, `"/entries/", "entry_id"`},
	{"internal/adapters/in/http/subjects.go", `There are three at most: a refund, its payment and\n// their order.`, "There are three at most."},
	{"internal/adapters/in/http/instance.go", `\t"\{(sku|customer_id)\}": .*\n`, ""},
	// the tests
	{"cmd/orders/migrate_test.go", `'ledger_entry'`, "'audit_log'"},
	{"internal/test/pg/roundtrips/roundtrips_test.go", `orders_id_seq`, "entry_id_seq"},
	{"internal/test/architecture/architecture_test.go", `core ← order ← payment, core ← customer, core ← audit`, "core ← entry, core ← audit"},
	{"internal/test/architecture/architecture_test.go", `(?s)\t"order":    \{\},.*?\t"audit":    \{\},`, "\t\"entry\": {},\n\t\"audit\": {},"},
	{"internal/test/architecture/architecture_test.go", `(?s)\t\{\n\t\tname:     "the in-memory store.*?\n\t\},\n`, ""},
	{"internal/test/architecture/architecture_test.go", `(?s)\t\{\n\t\tname:     "the client can be copied.*?\n\t\},\n`, ""},
	{".golangci.yml", `core ← order ← payment, core ← customer, core ← audit`, "core ← entry, core ← audit"},
	{".golangci.yml", `(?s)        core-order:.*?(        core-customer:)`, "$1"},
	{".golangci.yml", `core-customer`, "core-entry"},
	{".golangci.yml", `internal/core/customer`, "internal/core/entry"},
	{".golangci.yml", `desc: customer knows`, "desc: entry knows"},
	{".golangci.yml", `(?s)        adapter-events:.*?(        adapter-postgres:)`, "$1"},
	{".golangci.yml", `(?s)        adapter-stripe:.*?(        adapter-nats:)`, "$1"},
	{"internal/outbox/fixture_test.go", `core/order"`, `core/entry"`},
	{"internal/outbox/fixture_test.go", `db\.Orders\(\)(.*)order\.Tx`, "db.Entries()${1}entry.Tx"},
	{"internal/adapters/in/http/guard_test.go", `(?s)\t\t"insufficient_funds": true.*?"payment_method_unavailable": true,\n`, "\t\t\"validation_failed\": true,\n"},
	{"internal/adapters/in/http/guard_test.go", `core\.CodeInvalidOrderState, Detail: "the order is shipped"`, `core.CodeValidationFailed, Detail: "d"`},
	{"internal/adapters/in/http/guard_test.go", `first\.Code != http\.StatusConflict \|\| second\.Code != http\.StatusConflict`,
		"first.Code != http.StatusUnprocessableEntity || second.Code != http.StatusUnprocessableEntity"},
	{"internal/test/e2e/auth/access_test.go", `e2e\.StartShop\(t, nil\)`, "e2e.Start(t)"},
	{"internal/test/e2e/auth/access_test.go", `(?s) \+\n\t\t\t\(SELECT count\(\*\) FROM product .*?customer_profile\)`, ""},
	{"internal/test/e2e/rowlock.go", ` \|\| tag\.RowsAffected\(\) == 0`, ""},
	{"internal/config/config_test.go", `(?s)\t\tReservationTTL: .*?(\t\tLogLevel: )`, "$1"},
	{"internal/config/config_test.go", `(?m)^\t+\{?"ORDERS_(RESERVATION|UNPAID|STRIPE)_.*\n`, ""},
	{"internal/telemetry/telemetry_test.go", `, Mismatches: 3, ReconciliationAge: time\.Hour`, ""},
	{"internal/telemetry/telemetry_test.go", `\n.*"orders_reconciliation_mismatches 3".*`, ""},
	{"internal/adapters/in/jobs/batch_test.go", `releaseExpiredReservations`, "cleanOutbox"},
	{"internal/adapters/in/jobs/batch_test.go", `reservationsQueue`, `"default"`},
	{"internal/adapters/out/postgres/outbox_test.go", `core/order"`, `core/entry"`},
	{"internal/adapters/out/postgres/outbox_test.go", `order\.Tx`, "entry.Tx"},
	{"internal/adapters/out/postgres/outbox_test.go", `d\.Orders\(\)`, "d.Entries()"},
	{"internal/test/e2e/races/guard_test.go", `StartTwoReplicas\(t, nil\)`, "StartTwoReplicas(t)"},
	{"internal/test/e2e/env.go", `\n\tstock +\*initialStock`, ""},
	{"internal/test/e2e/env.go", `, stock: newInitialStock\(\)`, ""},
	{"internal/test/e2e/routes.go", `joined\(.*Routes\)`, "joined(entryRoutes, otherRoutes)"},
	{"internal/test/e2e/routes_other.go", `(?s)\t"getCustomerProfile": .*?(\t"listAuditLog")`, "$1"},
	{"internal/test/e2e/guard/secondline_test.go", `e2e\.StartShop\(t, nil\)`, "e2e.Start(t)"},
	{"internal/test/e2e/guard/secondline_test.go", `(?s)\t\t"orders": +\{.*?\n\t\} \{`, "\t\t\"entry\": {\"(created_by, idempotency_key)\", `{\"id\": 99}`},\n\t} {"},
	{"internal/test/e2e/guard/replay_test.go", `createOrder`, "createEntry"},
	// the contract
	{contract, `(?s)    Create orders, reserve stock .*?them\.\n`, "    Record amounts of money: an example, to be replaced by the first resource of this service.\n"},
	{contract, `Operations that move money, and those that reserve stock or adjust it, require an`, "Operations that move money require an"},
	{contract, `(?s)    - No key stops a request.*?whatever its key\.\n`, ""},
	{contract, `, such as\n    .insufficient_funds. or .out_of_stock.,`, ""},
	{contract, `instance: /orders\b`, "instance: /entries"},
	{contract, `there is no such order`, "there is no such entry"},
	{contract, `(action: )RefundPayment\n( *)resource: order/(\d+)\n *metadata: .*`, "${1}GetEntry\n${2}resource: entry/$3\n${2}metadata: {}"},
	{"redocly.yaml", `(?s)  events:\n.*?(extends:)`, "$1"},
	{"internal/adapters/in/http/wire/overlay.yaml", `(?s)  # The service reads both kinds of payments.*`, ""},
	{"internal/adapters/in/http/wire/doc.go", `//go:generate go test .*\n`, ""},
	{"Makefile", `generated openapi compatible ##`, "generated openapi ##"},
	{".ci/run", `generated openapi compatible;`, "generated openapi;"},
	{"cmd/orders-dev/main.go", `\tcase "replica": .*\n.*\n`, ""},
	{"cmd/orders-dev/main.go", `, a token issuer and a double of the\n// card provider`, " and a token\n// issuer"},
	{"cmd/orders-dev/main.go", `, a token issuer and a double of the card provider\)`, " and a token issuer)"},
	{"api/embed.go", `(?s)\n[^\n]*\n//go:embed asyncapi.yaml\nvar AsyncAPI \[\]byte\n`, ""},
}
