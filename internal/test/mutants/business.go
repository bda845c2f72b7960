package main

const (
	orders   = "./internal/core/order"
	payments = "./internal/core/payment"
)

// businessMutants are the rules about money, stock and the life of an order.
var businessMutants = []mutant{
	{
		"a balance pays no more than it has",
		"internal/core/payment/balance.go",
		`if b.Amount.Less(amount) {`, `if false {`,
		payments, "TestBalance_IsTheSumOfItsEntriesAndNeverNegative",
	},
	{
		"an amount is not negative",
		"internal/core/money.go",
		"if amount.IsNeg() {\n\t\treturn Money{}, errors.New(\"amount below zero\")", "if false {\n\t\treturn Money{}, errors.New(\"amount below zero\")",
		"./internal/core", "TestMoneyStaysWithinItsBounds",
	},
	{
		"currencies do not mix",
		"internal/core/money.go",
		"if m.currency != n.currency {\n\t\treturn Money{}, ErrCurrencyMismatch\n\t}\n\tsum, err", "sum, err",
		"./internal/core", "TestMoneyOfTwoCurrenciesDoesNotMix",
	},
	{
		"a change of a balance has an amount",
		"internal/core/payment/change_balance.go",
		`if cmd.Amount.IsZero() {`, `if false {`,
		useCase, "TestMoney_RefusesAmountsOutOfBounds",
	},
	{
		"entries of a balance have their places",
		"internal/core/payment/balance.go",
		`b.ChangedAt = core.After(b.ChangedAt, now)`, `b.ChangedAt = now`,
		payments, "TestBalance_PlacesEntriesInTheOrderOfItsChanges",
	},
	{
		"refunds stay within the payment",
		"internal/core/payment/order_payments.go",
		`if amount.IsZero() || p.Refundable().Less(amount) {`, `if amount.IsZero() {`,
		payments, "TestRefund_StaysWithinThePayment",
	},
	{
		"pending refunds count",
		"internal/core/payment/payment.go",
		`if r.Status != RefundFailed {`, `if r.Status == RefundSucceeded {`,
		payments, "TestRefunded_ExcludesFailedRefunds",
	},
	{
		"only an administrator refunds what was shipped",
		"internal/core/payment/refund_payment.go",
		`if !op.Order.Status.BeforeShipping() && !actor.Has(core.Admin) {`, `if false {`,
		useCase, "TestMoney_RefusesAmountsOutOfBounds",
	},
	{
		"a refund has the currency of its payment",
		"internal/core/payment/refund_payment.go",
		`if amount.Currency() != p.Amount.Currency() {`, `if false {`,
		useCase, "TestMoney_RefusesAmountsOutOfBounds",
	},
	{
		"a compensation is a refund",
		"internal/core/payment/cancel_order.go",
		`return r, tx.saveRefund(ctx, op, r, e)`, `_ = e; return r, nil`,
		useCase, "TestCancelOrder_ReturnsStockAndMoney",
	},
	{
		"a failed refund moves the money back by an entry",
		"internal/core/payment/apply_refund.go",
		`r.Status, e = RefundFailed, r.entry(ProviderAccount, receiver)`, `r.Status = RefundFailed`,
		payments, "TestRefund_IsDecidedOnceAndARefusalIsFinal",
	},
	{
		"an order is paid while it waits for payment",
		"internal/core/order/order.go",
		"if o.Status != PendingPayment {\n\t\treturn core.Refuse(core.CodeInvalidOrderState,\n\t\t\t\"an order that is \"+string(o.Status)+\" cannot be paid\")", "if false {\n\t\treturn core.Refuse(core.CodeInvalidOrderState,\n\t\t\t\"\")",
		orders, "TestPayable_NeedsPendingPaymentAndReservation",
	},
	{
		"an order is paid while its stock is reserved",
		"internal/core/order/order.go",
		`if !o.HasReservation(now) {`, `if false {`,
		orders, "TestPayable_NeedsPendingPaymentAndReservation",
	},
	{
		"the status follows the table of transitions",
		"internal/core/order/order.go",
		`if !o.Status.leadsTo(next) {`, `if false {`,
		orders, "TestOrder_FollowsTheTableOfTransitions",
	},
	{
		"a seller sets delivery statuses only",
		"internal/core/order/order.go",
		`if next != Fulfilling && next != Shipped && next != Delivered {`, `if false {`,
		orders, "TestAdvance_SetsOnlyDeliveryStatuses",
	},
	{
		"an order takes available stock only",
		"internal/core/order/product.go",
		`if s[l.SKU].Available() < int64(l.Quantity) {`, `if false {`,
		orders, "TestReserve_TakesAllOrNothing",
	},
	{
		"reserved stock is released and sold once",
		"internal/core/order/product.go",
		`if p.Reserved < n {`, `if false {`,
		orders, "TestStock_NeitherReleasesNorSellsWhatIsNotReserved",
	},
	{
		"a reservation in force is not released",
		"internal/core/order/order.go",
		` || !o.hasReservedStock() || o.HasReservation(now) {`, ` || !o.hasReservedStock() {`,
		orders, "TestExpireReservation_ReleasesExpiredStock",
	},
	{
		"reserved stock is not taken away",
		"internal/core/order/product.go",
		`case change < -p.Available():`, `case false:`,
		useCase, "TestAdjustStock_RefusesStockOutOfBounds",
	},
	{
		"reserved stock is not replaced",
		"internal/core/order/put_product.go",
		`if onHand < p.Reserved {`, `if false {`,
		useCase, "TestOrdersAndProducts_RefuseInvalidCommands",
	},
	{
		"stock has an upper bound",
		"internal/core/order/product.go",
		`case change > 0 && change > maxOnHand-p.OnHand:`, `case false:`,
		useCase, "TestAdjustStock_RefusesStockOutOfBounds",
	},
	{
		"an order has one seller",
		"internal/core/order/create_order.go",
		`if p.SellerID != o.SellerID {`, `if false {`,
		useCase, "TestOrdersAndProducts_RefuseInvalidCommands",
	},
	{
		"an order has one currency",
		"internal/core/order/create_order.go",
		`if p.Price.Currency() != o.Total.Currency() {`, `if false {`,
		useCase, "TestOrdersAndProducts_RefuseInvalidCommands",
	},
	{
		"an order names a SKU once",
		"internal/core/order/create_order.go",
		`if seen[item.SKU] {`, `if false {`,
		useCase, "TestOrdersAndProducts_RefuseInvalidCommands",
	},
	{
		"a reference makes one order",
		"internal/core/order/create_order.go",
		`if b.ReferenceTaken {`, `if false {`,
		useCase, "TestReference_StopsTheSameIntentUnderAnotherKey",
	},
	{
		"a reference makes one change of a balance",
		"internal/core/payment/change_balance.go",
		`if locked.ReferenceTaken {`, `if false {`,
		useCase, "TestReference_StopsTheSameIntentUnderAnotherKey",
	},
	{
		"a product keeps its seller",
		"internal/core/order/put_product.go",
		`p.Name, p.Price, p.OnHand, p.UpdatedAt = cmd`, `p.SellerID = ""; p.Name, p.Price, p.OnHand, p.UpdatedAt = cmd`,
		useCase, "TestPutProduct_KeepsTheOwner",
	},
}
