package main

// transactionMutants keep concurrent transactions apart, and never take an unknown outcome
// for a failure.
var transactionMutants = []mutant{
	{
		"a lost answer to COMMIT is unknown",
		"internal/adapters/out/postgres/commit.go",
		`return fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, safe(err))`, `return unavailable(err)`,
		store, "TestCommit_IsUnknownWhenItsAnswerIsLost",
	},
	{
		"a fatal error does not prove a rollback",
		"internal/adapters/out/postgres/errors.go",
		`return ok && !e.fatal && slices`, `return ok && slices`,
		store, "TestCommit_IsUnknownAfterAFatalError",
	},
	{
		"only listed errors prove a rollback",
		"internal/adapters/out/postgres/errors.go",
		`"25006",                            // read`, `"25006", "08", "57", "XX", // read`,
		store, "TestCommit_IsUnknownWhenAPoolerAnswersForTheServer",
	},
	{
		"the unknown completion of a statement proves no rollback",
		"internal/adapters/out/postgres/errors.go",
		`"40000", "40001", "40002", "40P01",`, `"40",`,
		store, "TestCommit_IsUnknownWhenAPoolerAnswersForTheServer",
	},
	{
		"a transaction that lost a race runs again",
		"internal/adapters/out/postgres/errors.go",
		"\t\treturn \"serialization_failure\"\n\tcase \"40P01\":\n\t\treturn \"deadlock\"\n", ``,
		store, "TestTransaction_RunsAgainAfterALostRace",
	},
	{
		"a unique violation is a lost race",
		"internal/adapters/out/postgres/errors.go",
		`return "unique_violation"`, ``,
		store, "TestUniqueViolation_FindsTheRowInTheNextRun",
	},
	{
		"nothing but a lost race runs again",
		"internal/adapters/out/postgres/errors.go",
		`case "23505":`, `case "23505", "55P03", "57014":`,
		store, "TestServerErrors_AreClassified",
	},
	{
		"a lost race runs a bounded number of times",
		"internal/adapters/out/postgres/tx.go",
		`maxRuns = 5`, `maxRuns = 50`,
		store, "TestServerErrors_AreClassified",
	},
	{
		"a COMMIT that rolled back is a failure",
		"internal/adapters/out/postgres/commit.go",
		`case tag.String() != "COMMIT":`, `case tag.String() == "":`,
		store, "TestCommit_ThatRollsBackIsAFailure",
	},
	{
		"a COMMIT that the standby has not confirmed is unknown",
		"internal/adapters/out/postgres/commit.go",
		`err = replicated(conn.PgConn())`, `_ = replicated`,
		"./internal/test/e2e/failover", "TestCommand_IsUnknownWhenTheWaitForTheStandbyIsCancelled",
	},
	{
		"a COMMIT is not cancelled when its connection breaks",
		"internal/adapters/out/postgres/commit.go",
		`if underWay.Load() {`, `if false {`,
		"./internal/test/e2e/failover", "TestCommit_IsNotCancelledWhenItsConnectionBreaks",
	},
	{
		"too many COMMITs in doubt refuse commands",
		"internal/adapters/out/postgres/commit.go",
		`atomic.LoadInt64(&d.count) >= d.limit`, `false`,
		"./internal/test/e2e/failover", "TestCommands_AreRefusedAtOnceWhileManyCommitsAreInDoubt",
	},
	{
		"the relay waits for the standby",
		"internal/adapters/out/postgres/outbox.go",
		`rows[0].Synchronous:`, `rows[0].Synchronous && false:`,
		"./internal/test/e2e/failover", "TestRelay_PublishesNothingThatAFailoverLoses",
	},
	{
		"a session decides about durability itself",
		"internal/adapters/out/postgres/db.go",
		`	params[commitLevel] = levelToSet(params[commitLevel])
`, ``,
		store, "TestWrites_AreDurableWhateverTheDatabaseSets",
	},
	{
		"a transaction that failed is rolled back",
		"internal/adapters/out/postgres/tx.go",
		`_, _ = t.conn.Exec(ctx, "rollback")`, `_, _ = t.conn.Exec(ctx, "commit")`,
		store, "TestStore",
	},
	{
		"a rollback does not depend on the caller",
		"internal/adapters/out/postgres/tx.go",
		`context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)`, `context.WithTimeout(ctx, rollbackTimeout)`,
		store, "TestConnection_IsReleasedAndUsedAgain",
	},
	{
		"a transaction that has ended writes nothing",
		"internal/adapters/out/postgres/pipeline.go",
		`if q.t.released {`, `if false {`,
		store, "TestStore",
	},
	{
		"a use case joins the transaction of the guard",
		"internal/adapters/out/postgres/tx.go",
		"if t, ok := ctx.Value(txKey{}).(*tx); ok {\n\t\treturn fn(ctx, t)\n\t}\n\treturn db.transact(ctx, begin(fn))", "return db.transact(ctx, begin(fn))",
		store, "TestStore",
	},
	{
		"transactions are read committed",
		"internal/adapters/out/postgres/db.go",
		`params["default_transaction_isolation"] = "read committed"`, ``,
		store, "TestOpen_SetsWhatTheLocksRelyOn",
	},
	{
		"an idle transaction ends",
		"internal/adapters/out/postgres/db.go",
		`setDefault(params, "idle_in_transaction_session_timeout", idleInTransaction)`, ``,
		store, "TestOpen_SetsWhatTheLocksRelyOn",
	},
	{
		"an order is locked",
		"internal/adapters/out/postgres/dbsqlc/order.sql.go",
		"OR o.seller_id = $4)\nORDER BY i.line\nFOR UPDATE OF o", "OR o.seller_id = $4)\nORDER BY i.line",
		store, "TestLock_LastsAsLongAsTheTransaction",
	},
	{
		"the stock of an order is locked",
		"internal/adapters/out/postgres/dbsqlc/product.sql.go",
		"OR o.seller_id = $4)\n))\nORDER BY sku\nFOR UPDATE", "OR o.seller_id = $4)\n))\nORDER BY sku",
		store, "TestLock_LastsAsLongAsTheTransaction",
	},
	{
		"the products of a new order are locked",
		"internal/adapters/out/postgres/dbsqlc/product.sql.go",
		"OR seller_id = $3)\nORDER BY sku\nFOR UPDATE", "OR seller_id = $3)\nORDER BY sku",
		store, "TestLock_LastsAsLongAsTheTransaction",
	},
	{
		"products are locked in one order",
		"internal/adapters/out/postgres/dbsqlc/product.sql.go",
		"OR seller_id = $3)\nORDER BY sku\nFOR UPDATE", "OR seller_id = $3)\nFOR UPDATE",
		store, "TestBasket_LocksInOneOrder",
	},
	{
		"a product is locked",
		"internal/adapters/out/postgres/dbsqlc/product.sql.go",
		"OR seller_id = $3)\nFOR UPDATE", "OR seller_id = $3)",
		store, "TestLock_LastsAsLongAsTheTransaction",
	},
	{
		"a balance is locked",
		"internal/adapters/out/postgres/dbsqlc/balance.sql.go",
		`AND currency = $2 FOR UPDATE`, `AND currency = $2`,
		store, "TestLock_LastsAsLongAsTheTransaction",
	},
	{
		"the balance of an order is locked",
		"internal/adapters/out/postgres/dbsqlc/balance.sql.go",
		")\nFOR UPDATE", ")",
		store, "TestLock_LastsAsLongAsTheTransaction",
	},
	{
		"a profile is locked",
		"internal/adapters/out/postgres/dbsqlc/profile.sql.go",
		`WHERE customer_id = $1 FOR UPDATE`, `WHERE customer_id = $1`,
		store, "TestLock_LastsAsLongAsTheTransaction",
	},
}
