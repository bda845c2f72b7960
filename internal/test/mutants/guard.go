package main

const (
	engine  = "./internal/idempotency"
	httpAPI = "./internal/adapters/in/http"
	store   = "./internal/adapters/out/postgres"
	useCase = "./internal/test/core"
)

// guardMutants are what AUTH-19 rests on: the key, the fingerprint, the claim, the record,
// and the second line of defence.
var guardMutants = []mutant{
	{
		"a guarded route requires a key",
		"internal/idempotency/key.go",
		`return "", ErrKeyRequired`, `return "none", nil`,
		engine, "TestParseKey",
	},
	{
		"a key is sent once",
		"internal/idempotency/key.go",
		`if len(header) > 1 {`, `if len(header) > 99 {`,
		engine, "TestParseKey",
	},
	{
		"a key has at most 255 characters",
		"internal/idempotency/key.go",
		`if len(key) > MaxKeyLength {`, `if len(key) > 2*MaxKeyLength {`,
		engine, "TestParseKey",
	},
	{
		"a key has visible characters only",
		"internal/idempotency/key.go",
		`if c <= ' ' || c > '~' || strings`, `if strings`,
		engine, "TestParseKey",
	},
	{
		"the method is part of the fingerprint",
		"internal/idempotency/fingerprint.go",
		`text = appendPart(text, c.Method)`, ``,
		engine, "TestFingerprint_DiffersForAnotherRequest",
	},
	{
		"the path is part of the fingerprint",
		"internal/idempotency/fingerprint.go",
		`text = appendPart(text, c.Path)`, ``,
		engine, "TestFingerprint_DiffersForAnotherRequest",
	},
	{
		"the query is part of the fingerprint",
		"internal/idempotency/fingerprint.go",
		`text = appendPart(text, c.Query)`, ``,
		engine, "TestFingerprint_DiffersForAnotherRequest",
	},
	{
		"the body is part of the fingerprint",
		"internal/idempotency/fingerprint.go",
		`text = appendPart(text, c.Body)`, ``,
		engine, "TestFingerprint_DiffersForAnotherRequest",
	},
	{
		"headers that count are part of the fingerprint",
		"internal/idempotency/fingerprint.go",
		`range c.Headers {`, `range c.Headers[:0] {`,
		engine, "TestFingerprint_DiffersForAnotherRequest",
	},
	{
		"parts of the fingerprint have borders",
		"internal/idempotency/fingerprint.go",
		`text = binary.BigEndian.AppendUint64(text, uint64(len(part)))`, `_ = binary.BigEndian`,
		engine, "TestFingerprint_DiffersForAnotherRequest",
	},
	{
		"a fingerprint is compared in its own version",
		"internal/idempotency/fingerprint.go",
		`hash, known := fingerprintVersions[f[0]]`, `hash, known := fingerprintVersions[currentVersion]`,
		engine, "TestMatches_ComparesInTheStoredVersion",
	},
	{
		"the key of another request is refused",
		"internal/idempotency/guard.go",
		`if !same {`, `if !same && false {`,
		engine, "TestDo_ReplaysOnlyTheSameRequest",
	},
	{
		"a client that hangs up stops no command",
		"internal/idempotency/guard.go",
		`context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)`, `context.WithTimeout(ctx, g.Timeout)`,
		engine, "TestDo_FinishesTheCommandOfAClientThatHungUp",
	},
	{
		"a command has a deadline of its own",
		"internal/idempotency/guard.go",
		`context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)`, `context.WithCancel(context.WithoutCancel(ctx))`,
		engine, "TestDo_FinishesTheCommandOfAClientThatHungUp",
	},
	{
		"parts of a scope have borders",
		"internal/idempotency/store.go",
		`escaped[i] = scopeEscaper.Replace(part)`, `escaped[i] = part`,
		engine, "TestNewScope_DiffersForDifferentParts",
	},
	{
		"a key belongs to the subject of the token",
		"internal/adapters/in/http/auth.go",
		`idempotency.NewScope(v.cfg.Issuer, subject)`, `idempotency.NewScope(v.cfg.Issuer)`,
		"./internal/test/e2e/guard", "TestGuard_SeparatesPrincipals",
	},
	{
		"a command claims its key in the scope of the principal",
		"internal/adapters/in/http/guard.go",
		`Scope: req.scope, Key`, `Scope: "", Key`,
		"./internal/test/e2e/guard", "TestGuard_SeparatesPrincipals",
	},
	{
		"a key is looked up in the scope of the principal",
		"internal/adapters/in/http/idempotency_keys.go",
		`Scope: r.scope, Key`, `Scope: "", Key`,
		"./internal/test/e2e/guard", "TestGetIdempotencyKey_ReportsCommandAndStatus",
	},
	{
		"a replay is authorised again",
		"internal/adapters/in/http/api.go",
		`if !rt.allows(id.actor) {`, `if !rt.allows(id.actor) && !rt.guarded {`,
		"./internal/test/e2e/guard", "TestGuard_ChecksTokenBeforeReplay",
	},
	{
		"commands that move money are guarded",
		"internal/adapters/in/http/routes.go",
		`"confirmPayment", guarded,`, `"confirmPayment", unguarded,`,
		httpAPI, "TestCheckRoutes_AcceptsTheContract",
	},
	{
		"only refusals that decide an operation are stored",
		"internal/adapters/in/http/guard.go",
		`if !final(p.code) {`, `if !final(p.code) && false {`,
		httpAPI, "TestGuard_StoresOnlyFinalRefusals",
	},
	{
		"a refusal about a key does not take the key",
		"internal/adapters/in/http/problem.go",
		`"Idempotency-Key already used", 0, lookUpKey}`, `"Idempotency-Key already used", 0, newKeyIfStored}`,
		httpAPI, "TestGuard_StoresOnlyFinalRefusals",
	},
	{
		"what a refused command wrote is dropped",
		"internal/adapters/out/postgres/keys.go",
		`if result.Refused {`, `if result.Refused && false {`,
		store, "TestRefusal_RollsBackToTheSavepoint",
	},
	{
		"the response is stored",
		"internal/adapters/out/postgres/keys.go",
		`return t.storeRecord(ctx, rec, stored != nil)`, `return nil`,
		"./internal/test/e2e/guard", "TestGuard_ReplaysFirstResponseByteForByte",
	},
	{
		"a duplicate learns that the first request runs",
		"internal/adapters/out/postgres/keys.go",
		`if !locked.Locked {`, `if !locked.Locked && false {`,
		store, "TestKeyInProgress_TakesNoConnection",
	},
	{
		"the lock of a key is tried and not waited for",
		"internal/adapters/out/postgres/dbsqlc/idempotency.sql.go",
		`SELECT pg_try_advisory_xact_lock($1) AS locked,`, `SELECT (pg_advisory_xact_lock($1) IS NOT NULL) AS locked,`,
		store, "TestKeyInProgress_TakesNoConnection",
	},
	{
		"an expired record counts as absent",
		"internal/adapters/out/postgres/keys.go",
		`if stored != nil && !stored.Expired {`, `if stored != nil {`,
		"./internal/test/e2e/guard", "TestGuard_ExpiresRecordsByClockOfDatabase",
	},
	{
		"records expire by the clock of the database",
		"internal/idempotency/store.go",
		`ExpiresAt: now.Add(r.TTL),`, `ExpiresAt: now.Add(r.TTL / 2),`,
		"./internal/test/e2e/guard", "TestGuard_ExpiresRecordsByClockOfDatabase",
	},
	{
		"a spent key runs nothing",
		"internal/adapters/in/http/guard.go",
		`TTL: max(g.ttl, g.refusalTTL), ReplayTTL`, `TTL: g.refusalTTL, ReplayTTL`,
		"./internal/test/e2e/guard", "TestGuard_RunsNothingUnderASpentKey",
	},
	{
		"the refusal of a spent key is not replayed",
		"internal/idempotency/guard.go",
		`if rec.Spent {`, `if false {`,
		"./internal/idempotency", "TestDo_RefusesASpentKey",
	},
	{
		"clean-up deletes expired records only",
		"internal/adapters/out/postgres/dbsqlc/idempotency.sql.go",
		`WHERE r.expires_at <= statement_timestamp()`, `WHERE true`,
		store, "TestStore",
	},
	{
		"a replay comes from the database unless it was seen lately",
		"internal/adapters/out/postgres/recent.go",
		`found.generation == r.generation && time.Since(r.seen) < trustFor`, `found.generation == r.generation`,
		store, "TestReplay_ComesFromNoMemoryThatTheDatabaseHasNotConfirmedLately",
	},
	{
		"a broken connection empties the memory of records",
		"internal/adapters/out/postgres/watch.go",
		`recent.forget()`, `_ = recent`,
		store, "TestReplay_ComesFromNoMemoryAfterAConnectionBroke",
	},
	{
		"a record of before a broken connection is not remembered",
		"internal/adapters/out/postgres/recent.go",
		`known && found.generation == r.generation &&`, `known &&`,
		store, "TestReplay_ComesFromNoMemoryOfACommandThatRanWhenAConnectionBroke",
	},
	{
		"a replay waits for the standby",
		"internal/adapters/out/postgres/keys.go",
		`if !synchronous {`, `if true {`,
		"./internal/test/e2e/failover", "TestGetIdempotencyKey_ReportsNothingThatAFailoverLoses",
	},
	{
		"one operation creates one order",
		"internal/core/order/create_order.go",
		`basket.Prior != nil; repeated {`, `false; repeated {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"one operation extends a reservation once",
		"internal/core/order/reserve_inventory.go",
		`reservation.Repeated; repeated {`, `false; repeated {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"one operation adjusts stock once",
		"internal/core/order/adjust_stock.go",
		`prior, prior != nil; repeated {`, `prior, false; repeated {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"one operation makes one payment",
		"internal/core/payment/confirm_payment.go",
		`p = op.paymentBy(by); p != nil {`, `p = op.paymentBy(by); false {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"one operation makes one refund",
		"internal/core/payment/refund_payment.go",
		`r = op.refundBy(by); r != nil {`, `r = op.refundBy(by); false {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"one operation cancels once",
		"internal/core/payment/cancel_order.go",
		`prior != nil && prior.By == cancellation.By {`, `prior != nil && false {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"one operation changes a balance once",
		"internal/core/payment/change_balance.go",
		`locked.Prior != nil; repeated {`, `false; repeated {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"a repeated order must be the same order",
		"internal/core/order/create_order.go",
		`if !o.sameItems(cmd.Items) || o.Reference != cmd.Reference {`, `if false {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"a repeated payment must be the same payment",
		"internal/core/payment/confirm_payment.go",
		`if p.Method != cmd.Method || p.Card.Token != cmd.CardToken {`, `if false {`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"a repeated refund must be the same refund",
		"internal/core/payment/refund.go",
		`if r.Full != full ||`, `if full && !full ||`,
		"./internal/test/e2e/guard", "TestSecondLine_RefusesAnotherRequest",
	},
	{
		"a repeated change of a balance must be the same change",
		"internal/core/payment/change_balance.go",
		`if e.Kind != kind || !e.Amount.Equal(cmd.Amount) ||`, `if`,
		useCase, "TestOperation_TakesEffectOnce",
	},
	{
		"a repeated operation belongs to its actor",
		"internal/core/payment/order_payments.go",
		`return r.By == by })`, `return r.By.Key == by.Key })`,
		useCase, "TestOperation_DiffersForTwoActorsWithOneKey",
	},
}
