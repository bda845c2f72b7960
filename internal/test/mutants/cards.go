package main

const (
	stripe = "./internal/adapters/out/stripe"
	cards  = "./internal/test/e2e/cards"
	hooks  = "./internal/test/e2e/webhooks"
)

// cardMutants are what a payment by card rests on: one charge for a payment, results that
// are compared, and webhooks that are signed.
var cardMutants = []mutant{
	{
		"a charge has an idempotency key",
		"internal/adapters/out/stripe/charge.go",
		`params.SetIdempotencyKey(c.Payment)`, ``,
		stripe, "TestCharge_ChargesOnceWhateverStripeDoes",
	},
	{
		"a refund has an idempotency key",
		"internal/adapters/out/stripe/refund.go",
		`params.SetIdempotencyKey(r.Refund)`, ``,
		stripe, "TestRefund_RefundsOnceWhateverStripeDoes",
	},
	{
		"an earlier charge is searched first",
		"internal/adapters/out/stripe/charge.go",
		`if c.Retry {`, `if false {`,
		stripe, "TestCharge_ChargesOnceWhateverStripeDoes",
	},
	{
		"an earlier refund is searched first",
		"internal/adapters/out/stripe/refund.go",
		`if r.Retry {`, `if false {`,
		stripe, "TestRefund_RefundsOnceWhateverStripeDoes",
	},
	{
		"a search that fails charges nothing",
		"internal/adapters/out/stripe/charge.go",
		`return nil, unknownOutcome("search the charge", err)`, `return nil, nil`,
		stripe, "TestRetry_MovesNoMoneyWhenTheSearchFails",
	},
	{
		"two charges of a payment are no answer",
		"internal/adapters/out/stripe/charge.go",
		`case len(found) > 1:`, `case false:`,
		stripe, "TestCharge_IsUnknownWhenTwoIntentsHaveThePaymentsKey",
	},
	{
		"the provider authenticates us",
		"internal/adapters/out/stripe/gateway.go",
		`api.NewClient(cfg.Key, `, `api.NewClient("", `,
		stripe, "TestCharge_ChargesOnceWhateverStripeDoes",
	},
	{
		"an answer of 401 fails no payment",
		"internal/adapters/out/stripe/errors.go",
		`default: // such as 401 and 403: an operator has to act, and the payment waits
		return class{}`, `default:
		return class{refused: true}`,
		stripe, "TestCharge_IsUnknownWithAWrongAPIKey",
	},
	{
		"no answer fails no payment",
		"internal/adapters/out/stripe/errors.go",
		`return class{retryable: true, outage: !errors.Is(err, context.Canceled)}`, `return class{refused: true}`,
		stripe, "TestCharge_ReturnsAnErrorWhileTheOutcomeIsUnknown",
	},
	{
		"an unknown status fails no payment",
		"internal/adapters/out/stripe/charge.go",
		"if !known {\n\t\treturn payment.ChargeResult{}, fmt", "if !known && intent.Status == \"\" {\n\t\treturn payment.ChargeResult{}, fmt",
		stripe, "TestCharge_ReturnsAnErrorWhileTheOutcomeIsUnknown",
	},
	{
		"a refused charge can capture nothing later",
		"internal/adapters/out/stripe/charge.go",
		"func (g *Gateway) intentResult(ctx context.Context, key string, intent *api.PaymentIntent) (payment.ChargeResult, error) {\n\tif mayStillCapture(intent) {", "func (g *Gateway) intentResult(ctx context.Context, key string, intent *api.PaymentIntent) (payment.ChargeResult, error) {\n\tif false {",
		stripe, "TestCharge_CancelsAnIntentThatWaitsForSomebody",
	},
	{
		"a webhook is signed",
		"internal/adapters/out/stripe/webhook.go",
		`if !signed.covers(payload, w.Secret) {`, `if signed.covers(payload, w.Secret); false {`,
		stripe, "TestParse_RejectsWebhooksThatStripeDidNotJustSign",
	},
	{
		"a webhook is young",
		"internal/adapters/out/stripe/signature.go",
		`> webhook.DefaultTolerance {`, `> 100*webhook.DefaultTolerance {`,
		stripe, "TestParse_RejectsWebhooksThatStripeDidNotJustSign",
	},
	{
		"a webhook is not of the future",
		"internal/adapters/out/stripe/signature.go",
		`w.Now().Sub(signed.at).Abs() >`, `w.Now().Sub(signed.at) >`,
		stripe, "TestParse_RejectsWebhooksThatStripeDidNotJustSign",
	},
	{
		"the signature header of a webhook is checked before its body is read",
		"internal/adapters/in/http/webhooks.go",
		`if a.Webhooks.CheckHeader(signature) != nil {`, `if false {`,
		hooks, "TestWebhook_WithAnImpossibleSignatureIsNotRead",
	},
	{
		"a bounded number of webhooks is read at the same time",
		"internal/adapters/in/http/webhooks.go",
		`if !a.webhookBodies.TryAcquire(1) {`, `if a.webhookBodies.TryAcquire(1); false {`,
		hooks, "TestWebhooks_AreReadInABoundedNumber",
	},
	{
		"a webhook needs a secret",
		"internal/adapters/out/stripe/signature.go",
		`if w.Secret == "" {`, `if false {`,
		stripe, "TestParse_RejectsWebhooksThatStripeDidNotJustSign",
	},
	{
		"an unsigned webhook changes nothing",
		"internal/adapters/in/http/webhooks.go",
		`if err != nil && !errors.Is(err, payment.ErrUnreadableEvent) {`, `if false {`,
		hooks, "TestWebhook_WithoutValidSignatureChangesNothing",
	},
	{
		"an event of the provider takes effect once",
		"internal/core/payment/apply_provider_event.go",
		`if err != nil || !first {`, `if err != nil || !first && false {`,
		hooks, "TestWebhook_ThatDiffersFromThePaymentIsNotApplied",
	},
	{
		"a result names our payment",
		"internal/core/payment/difference.go",
		`case r.Payment != t.Payment || r.Refund != t.Refund:`, `case false:`,
		useCase, "TestSettlePayment_LeavesAnAnswerThatDiffersUndecided",
	},
	{
		"a result names our order",
		"internal/core/payment/difference.go",
		`case r.OrderID != t.OrderID:`, `case false:`,
		useCase, "TestSettlePayment_LeavesAnAnswerThatDiffersUndecided",
	},
	{
		"a result has our amount and currency",
		"internal/core/payment/difference.go",
		`case !r.Amount.Equal(t.Amount):`, `case false:`,
		useCase, "TestSettlePayment_LeavesAnAnswerThatDiffersUndecided",
	},
	{
		"a result has our currency",
		"internal/core/money.go",
		`return m.currency == n.currency && m.amount.Cmp(n.amount) == 0`, `return m.amount.Cmp(n.amount) == 0`,
		useCase, "TestSettlePayment_LeavesAnAnswerThatDiffersUndecided",
	},
	{
		"a result has the id of a charge",
		"internal/core/payment/difference.go",
		`case !plainID.MatchString(r.ExternalID):`, `case false:`,
		useCase, "TestSettlePayment_LeavesAnAnswerThatDiffersUndecided",
	},
	{
		"a charge belongs to one payment",
		"internal/core/payment/difference.go",
		"other, err := tx.Payments.OfCharge(ctx, result.ExternalID)", "other, err := int64(0), error(nil)",
		hooks, "TestWebhook_ThatNobodyCanTakeIsAcknowledged",
	},
	{
		"a webhook that differs is not applied",
		"internal/core/payment/difference.go",
		`case !r.Amount.Equal(t.Amount):`, `case false:`,
		hooks, "TestWebhook_ThatDiffersFromThePaymentIsNotApplied",
	},
	{
		"a webhook about another refund is not applied",
		"internal/core/payment/difference.go",
		`case r.Payment != t.Payment || r.Refund != t.Refund:`, `case false:`,
		hooks, "TestWebhook_ThatDiffersFromTheRefundIsNotApplied",
	},
	{
		"a decided payment does not change",
		"internal/core/payment/apply_charge.go",
		"if p.Status != Processing {\n\t\treturn nil, nil\n\t}\n\tp.Card", "p.Card",
		hooks, "TestWebhooks_LeadToSameStateInAnyOrder",
	},
	{
		"a late capture is given back",
		"internal/core/payment/apply_charge.go",
		`if p.Status == Failed && result.Outcome == ChargeSucceeded {`, `if false {`,
		cards, "TestCardPayment_CapturedAfterItFailedIsGivenBackOnce",
	},
	{
		"a late capture is given back once",
		"internal/core/payment/return_late_capture.go",
		`if len(p.Refunds) > 0 {`, `if false {`,
		cards, "TestCardPayment_CapturedAfterItFailedIsGivenBackOnce",
	},
	{
		"a payment is marked before the provider is asked",
		"internal/core/payment/settle_payment.go",
		`p.Card.AskedAt = tx.Now`, `_ = tx.Now`,
		cards, "TestCardPayment_IsChargedOnceWhenItsJobIsPutBack",
	},
	{
		"a refund is marked before the provider is asked",
		"internal/core/payment/settle_refund.go",
		`r.AskedAt = tx.Now`, `_ = tx.Now`,
		cards, "TestCardRefund_IsMadeOnceWhenItsJobIsPutBack",
	},
	{
		"the provider is called outside transactions",
		"internal/core/payment/settle_payment.go",
		`err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByPayment(ctx, paymentID)
		if err != nil {
			return err
		}
		p = op`, `err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByPayment(ctx, paymentID)
		if err != nil {
			return err
		}
		_, _ = s.Gateway.Charge(ctx, ChargeRequest{Terms: op.payment(paymentID).terms(), PaymentID: paymentID, Token: op.payment(paymentID).Card.Token})
		p = op`,
		cards, "TestCardPayment_HoldsNothingWhileProviderIsCalled",
	},
	{
		"an intent commits with its payment",
		"internal/core/payment/confirm_payment.go",
		"if err := tx.Intents.Settle(ctx, p.ID); err != nil {", "if err := error(nil); err != nil {",
		cards, "TestCardPayment_IsChargedAtMostOnceWhateverTheProviderDoes",
	},
	{
		"an order has one payment at a time",
		"internal/core/payment/confirm_payment.go",
		`if err := op.Order.AwaitPayment(tx.Now); err != nil {`, `if err := op.Order.AwaitPayment(tx.Now); err != nil && op.Order.Status != order.PaymentProcessing {`,
		cards, "TestConfirmPayment_RefusesSecondPaymentWhileOneIsProcessing",
	},
	{
		"cards need an account at the provider",
		"internal/core/payment/confirm_payment.go",
		`if s.Gateway == nil {`, `if false {`,
		useCase, "TestOrderLifeCycle_RefusesWhatTheStateForbids",
	},
}
