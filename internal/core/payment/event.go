package payment

import (
	"strconv"

	"example.com/orders/internal/core"
)

// The event types for payments, refunds and balances.
const (
	EventPaymentProcessing core.EventType = "payment.processing"
	EventPaymentCaptured   core.EventType = "payment.captured"
	EventPaymentFailed     core.EventType = "payment.failed"
	// EventPaymentCapturedLate informs operators that a failed payment was captured and
	// is given back.
	EventPaymentCapturedLate core.EventType = "payment.captured_late"

	EventRefundPending   core.EventType = "refund.pending"
	EventRefundSucceeded core.EventType = "refund.succeeded"
	EventRefundFailed    core.EventType = "refund.failed"

	EventBalanceCredit  core.EventType = "balance.credit"
	EventBalanceCharge  core.EventType = "balance.charge"
	EventBalancePayment core.EventType = "balance.payment"
	EventBalanceRefund  core.EventType = "balance.refund"
)

// EventTypes lists all event types in this package.
var EventTypes = []core.EventType{
	EventPaymentProcessing, EventPaymentCaptured, EventPaymentFailed, EventPaymentCapturedLate,
	EventRefundPending, EventRefundSucceeded, EventRefundFailed,
	EventBalanceCredit, EventBalanceCharge, EventBalancePayment, EventBalanceRefund,
}

var refundEvents = map[RefundStatus]core.EventType{
	RefundPending:   EventRefundPending,
	RefundSucceeded: EventRefundSucceeded,
	RefundFailed:    EventRefundFailed,
}

var balanceEvents = map[EntryKind]core.EventType{
	EntryCredit:  EventBalanceCredit,
	EntryCharge:  EventBalanceCharge,
	EntryPayment: EventBalancePayment,
	EntryRefund:  EventBalanceRefund,
}

// Event returns an event about the payment.
func (p *Payment) Event(what core.EventType) core.Event {
	return core.Event{
		Type:      what,
		Aggregate: paymentResource(p.ID),
		Data: map[string]any{
			"payment_id": p.ID,
			"order_id":   p.OrderID,
			"method":     string(p.Method),
			"status":     string(p.Status),
			"amount":     p.Amount.Decimal(),
			"refunded":   p.Refunded().Decimal(),
			"currency":   string(p.Amount.Currency()),
		},
	}
}

// Event returns an event about the refund. Its aggregate is the payment, so that a
// payment's events and its refunds' events stay in order.
func (r *Refund) Event(what core.EventType) core.Event {
	return core.Event{
		Type:      what,
		Aggregate: paymentResource(r.PaymentID),
		Data: map[string]any{
			"refund_id":  r.ID,
			"payment_id": r.PaymentID,
			"order_id":   r.OrderID,
			"status":     string(r.Status),
			"amount":     r.Amount.Decimal(),
			"currency":   string(r.Amount.Currency()),
		},
	}
}

// Event returns an event about a ledger entry that changed the balance.
func (b *Balance) Event(what core.EventType, e *LedgerEntry) core.Event {
	return core.Event{
		Type:      what,
		Aggregate: "balance/" + b.CustomerID + "/" + string(b.Amount.Currency()),
		Data: map[string]any{
			"customer_id":            b.CustomerID,
			"balance_transaction_id": e.ID,
			"kind":                   string(e.Kind),
			"amount":                 e.Amount.Decimal(),
			"balance_after":          b.Amount.Decimal(),
			"currency":               string(e.Amount.Currency()),
		},
	}
}

func paymentResource(id int64) string { return "payment/" + strconv.FormatInt(id, 10) }
func refundResource(id int64) string  { return "refund/" + strconv.FormatInt(id, 10) }
