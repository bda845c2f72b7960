package main

// moneyDefects lost or doubled money or goods.
var moneyDefects = []defect{
	{
		name:    "settlement-job-thrown-away",
		symptom: "A process without cards threw the job of a payment away, and the payment stayed processing for ever.",
		found:   inReview, repair: "31befc5c56", pkg: "internal/test/e2e/cards", test: "TestSettlement_SurvivesRescueByProcessWithoutCards",
		prints: "threw the job away",
	},
	{
		name:    "settlement-job-gone",
		symptom: "A payment whose job was lost stayed processing, and its order could not be cancelled, refunded or paid.",
		found:   inReview, repair: "206da4104f", pkg: "internal/test/e2e/cards", test: "TestSettlement_ContinuesWhenItsJobIsGone",
		prints: "is settled",
		files:  []string{"internal/test/e2e/cards/settlement_test.go"},
	},
	{
		name:    "charge-without-a-payment",
		symptom: "Reconciliation did not report a charge at the provider that named no payment of ours.",
		found:   inReview, repair: "3f3e01c69b", pkg: "internal/core/payment", test: "TestCompare",
		prints: "unknown here, and 1 times captured by the provider", now: "internal/core/payment.TestCompare_ReportsMismatches",
		files: []string{"internal/core/payment/reconcile_test.go"},
		edits: []edit{{"internal/core/payment/reconcile_test.go", "compare(ours, captured, settled)", "compare(ours, captured[7])"}},
	},
	{
		name:    "old-charge-reported-missing",
		symptom: "Reconciliation reported payments whose charges were too old for the provider's list.",
		found:   byTest, repair: "96583d8cfa", pkg: "internal/core/payment", test: "TestCompare",
		prints: "captured here, and 0 times by the provider", now: "internal/core/payment.TestCompare_ReportsMismatches",
		files: []string{"internal/core/payment/reconcile_test.go"},
		edits: []edit{{"internal/core/payment/reconcile_test.go", "captured, listed, settled)", "captured, settled)"}},
	},
	{
		name:    "charge-of-a-lost-row",
		symptom: "After a restore, an order was paid with the charge that the provider had made for another customer.",
		found:   inReview, repair: "7af313ec32", pkg: "internal/test/e2e/cards", test: "TestCardPayment_IsChargedWhenALostRowHadItsNumber/of_the_same_amount",
		prints: "captured [20000], want [20000 20000]",
		files:  []string{"internal/test/e2e/cards/restore_test.go"}, edits: readProvider,
	},
	{
		name:    "refund-of-a-lost-row",
		symptom: "After a restore, a refund counted as made because an earlier one had had its number.",
		found:   inReview, repair: "7af313ec32", pkg: "internal/test/e2e/cards", test: "TestCardRefund_IsMadeWhenALostRowHadItsNumber",
		prints: "refunded [5000], want 5000 twice",
		files:  []string{"internal/test/e2e/cards/restore_test.go"}, edits: readProvider,
	},
	{
		name:    "webhook-of-a-lost-row",
		symptom: "A webhook about a payment that a restore had lost settled another one with the same number.",
		found:   inReview, repair: "7af313ec32", pkg: "internal/test/e2e/cards", test: "TestWebhook_AboutALostRowIsIgnored",
		prints: "order 1 is paid, want payment_processing",
		files:  []string{"internal/test/e2e/cards/restore_test.go"}, edits: readProvider,
	},
	{
		name:    "payment-charged-twice",
		symptom: "A settlement job that was put back charged the card a second time.",
		found:   inReview, repair: "79df001335", pkg: "internal/test/e2e/cards", test: "TestCardPayment_IsChargedOnceWhenItsJobIsPutBack/marked_as_asked",
		prints: "captured [20000 20000], want 20000 once",
		files:  []string{"internal/test/e2e/cards/lostjob_test.go", "internal/dev/fakestripe/behaviour.go"},
	},
	{
		name:    "refund-made-twice",
		symptom: "A refund job that was put back refunded the card a second time.",
		found:   inReview, repair: "79df001335", pkg: "internal/test/e2e/cards", test: "TestCardRefund_IsMadeOnceWhenItsJobIsPutBack",
		prints: "refunded [5000 5000], want 5000 once",
		files:  []string{"internal/test/e2e/cards/lostjob_test.go", "internal/dev/fakestripe/behaviour.go"},
	},
	{
		name:    "event-of-a-restored-database",
		symptom: "The stream dropped events of a restored database as duplicates of lost ones.",
		found:   inReview, repair: "03e029f49d", pkg: "internal/outbox", test: "TestRelay_PublishesWhatARestoredDatabaseWrites",
		prints: "events of 2 aggregates arrived, want 3",
		files:  []string{"internal/outbox/restored_test.go", "internal/test/pg/pgtest.go"},
		edits:  []edit{{"internal/outbox/restored_test.go", "db.RenewIncarnation(t.Context())", "error(nil)"}},
	},
	{
		name:    "webhook-of-another-amount",
		symptom: "A signed webhook of 1.00 USD about another order captured a payment of 200.00 RUB.",
		found:   byAttack, repair: "835d1242a0", pkg: "internal/test/e2e/webhooks", test: "TestWebhook_ThatDiffersFromThePaymentIsNotApplied",
		prints: "(-before +after)",
		files:  []string{"internal/test/e2e/webhooks/rejected_test.go"},
	},
	{
		name:    "refund-webhook-of-another-amount",
		symptom: "A signed webhook about a refund of another amount decided our refund.",
		found:   byAttack, repair: "835d1242a0", pkg: "internal/test/e2e/webhooks", test: "TestWebhook_ThatDiffersFromTheRefundIsNotApplied",
		prints: "(-before +after)",
		files:  []string{"internal/test/e2e/webhooks/rejected_test.go"},
	},
	{
		name:    "sold-stock-brought-back",
		symptom: "The same PUT of a product, sent again, offered ten units for sale that had been sold.",
		found:   inReview, repair: "ebc2f25b4a", pkg: "internal/test/e2e/commands", test: "TestPutProduct_RepeatedPutNeverBringsSoldStockBack",
		prints: "tea: 10 on hand, 0 reserved, 10 available; want 0",
		files:  []string{"internal/test/e2e/commands/products_test.go", "internal/test/e2e/calls.go"},
	},
	{
		name:    "late-capture",
		symptom: "What the provider captured after its payment had failed was kept, and an hourly line in the log was all.",
		found:   inReview, repair: "94a8952e41", pkg: "internal/test/e2e/cards", test: "TestCardPayment_CapturedAfterItFailedIsGivenBackOnce/by_a_webhook",
		prints: "not within 1m0s: the money is given back",
		files:  []string{"internal/test/e2e/cards/late_capture_test.go"},
	},
	{
		name:    "message-lost-in-a-failover",
		symptom: "A message that the inbox knew was acknowledged before the standby had it, and a failover lost the delivery.",
		found:   inReview, repair: "0760fe50ba", pkg: "internal/test/e2e/failover", test: "TestRestock_AcknowledgesNoMessageThatAFailoverLoses",
		prints: "the second delivery: <nil>, want that the outcome is unknown",
		files:  []string{"internal/test/e2e/failover/inbox_test.go"},
	},
	{
		name:    "one-intent-under-two-keys",
		symptom: "One intent that was sent under eight keys took effect eight times, and nothing in the API could prevent it.",
		found:   inReview, repair: "53aadcd4ad", pkg: "internal/test/e2e/commands", test: "TestReference_OneOfManyKeysTakesEffect/chargeBalance_with_a_reference",
		prints: "chargeBalance with a reference took effect 8 times, want 1",
		files:  []string{"internal/test/e2e/commands/references_test.go", "internal/test/e2e/routes_money.go", "internal/test/e2e/routes_orders.go"},
	},
	{
		name:    "stock-held-without-money",
		symptom: "A customer without money held all stock, and extended the reservations for ever.",
		found:   byAttack, repair: "054bfa1385", pkg: "internal/test/e2e/commands", test: "TestHoarding_IsBounded",
		prints: `POST /orders: 201 "", want 409 "unpaid_orders_limit"`,
		files:  []string{"internal/test/e2e/commands/hoarding_test.go"},
		edits:  []edit{{"internal/test/e2e/commands/hoarding_test.go", "if a.Config.UnpaidOrders != limit {\n\t\tt.Fatalf(\"the default is %d, want %d\", a.Config.UnpaidOrders, limit)\n\t}\n", ""}},
	},
	{
		name:    "replay-from-a-lost-database",
		symptom: "After a failover one replica replayed 201 from its memory with nothing behind it.",
		found:   byFault, repair: "bec812770d", pkg: "internal/test/e2e/failover", test: "TestReplay_ComesFromNoMemoryOfALostDatabase",
		prints: "after the failover 201",
		files:  []string{"internal/test/e2e/failover/asynchronous_test.go", "internal/test/e2e/failover/main_test.go", "internal/test/e2e/failover/synchronous_test.go"},
	},
}

// readProvider adds what the tests of restored databases ask the double of the provider.
var readProvider = []edit{{
	file:   "internal/test/e2e/cards/provider_test.go",
	before: "// chargesByPayment returns",
	after: `func (p *provider) intents(t testing.TB) []int {
	return p.amounts(t, "SELECT array(SELECT amount FROM fakestripe.intent WHERE status = 'succeeded' ORDER BY number)")
}

func (p *provider) refunds(t testing.TB) []int {
	return p.amounts(t, "SELECT array(SELECT amount FROM fakestripe.refund WHERE status = 'succeeded' ORDER BY number)")
}

func (p *provider) amounts(t testing.TB, query string) (amounts []int) {
	t.Helper()
	if err := p.db.QueryRow(t.Context(), query).Scan(&amounts); err != nil {
		t.Fatal(err)
	}
	return amounts
}

func (p *provider) refuseCalls() (release func()) {
	p.setHook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusServiceUnavailable) })
	return func() { p.hook.Store(nil) }
}

// chargesByPayment returns`,
}}
