package payment

import (
	"strconv"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment/cards"
)

// The event types for payments, refunds and balances.
const (
	EventPaymentProcessing core.EventType = "payment.processing"
	EventPaymentCaptured   core.EventType = "payment.captured"
	EventPaymentFailed     core.EventType = "payment.failed"
	// EventPaymentCapturedLate informs operators that a failed payment was captured and
	// is given back.
	EventPaymentCapturedLate core.EventType = "payment.captured_late"
	// A dispute is opened, and perhaps opened once more; and it is won or lost.
	EventPaymentDisputed    core.EventType = "payment.disputed"
	EventPaymentDisputeWon  core.EventType = "payment.dispute_won"
	EventPaymentDisputeLost core.EventType = "payment.dispute_lost"

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
	EventPaymentDisputed, EventPaymentDisputeWon, EventPaymentDisputeLost,
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

// EventData is the data of events about a payment.
type EventData struct {
	PaymentID int64
	OrderID   int64
	Method    Method
	Status    Status
	Amount    core.Money
	Refunded  core.Money
	// Dispute is nil unless the event is about one.
	Dispute *cards.Dispute
}

// Event returns an event about the payment.
func (p *Payment) Event(eventType core.EventType) core.Event { return p.disputeEvent(eventType, nil) }

// disputeEvent returns an event about a dispute of the payment.
func (p *Payment) disputeEvent(eventType core.EventType, d *cards.Dispute) core.Event {
	return core.Event{Type: eventType, Aggregate: paymentResource(p.ID), Data: EventData{
		PaymentID: p.ID, OrderID: p.OrderID, Method: p.Method, Status: p.Status,
		Amount: p.Amount, Refunded: p.Refunded(), Dispute: d,
	}}
}

// RefundEventData is the data of events about a refund.
type RefundEventData struct {
	RefundID  int64
	PaymentID int64
	OrderID   int64
	Status    RefundStatus
	Amount    core.Money
}

// Event returns an event about the refund. Its aggregate is the payment, so that the
// events of a payment and of its refunds stay in order.
func (r *Refund) Event(eventType core.EventType) core.Event {
	return core.Event{Type: eventType, Aggregate: paymentResource(r.PaymentID), Data: RefundEventData{
		RefundID: r.ID, PaymentID: r.PaymentID, OrderID: r.OrderID, Status: r.Status, Amount: r.Amount,
	}}
}

// BalanceEventData is the data of events about a balance.
type BalanceEventData struct {
	CustomerID   string
	EntryID      int64
	Kind         EntryKind
	Amount       core.Money
	BalanceAfter core.Money
}

// Event returns an event about a ledger entry that changed the balance.
func (b *Balance) Event(eventType core.EventType, e *LedgerEntry) core.Event {
	return core.Event{
		Type:      eventType,
		Aggregate: "balance/" + b.CustomerID + "/" + string(b.Amount.Currency()),
		Data: BalanceEventData{
			CustomerID: b.CustomerID, EntryID: e.ID, Kind: e.Kind, Amount: e.Amount, BalanceAfter: b.Amount,
		},
	}
}

func paymentResource(id int64) string { return "payment/" + strconv.FormatInt(id, 10) }
func refundResource(id int64) string  { return "refund/" + strconv.FormatInt(id, 10) }
