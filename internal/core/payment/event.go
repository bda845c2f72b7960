package payment

import (
	"strconv"

	"example.com/orders/internal/core"
)

// Event returns the event that says what happened to the payment.
func (p *Payment) Event(what string) core.Event {
	return core.Event{
		Type:      "payment." + what,
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

// Event returns the event that says what happened to the refund. Its aggregate is the
// payment, so that the events of a payment and of its refunds keep their order.
func (r *Refund) Event(what string) core.Event {
	return core.Event{
		Type:      "refund." + what,
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

// Event returns the event that says how a ledger entry changed the balance.
func (b *Balance) Event(what string, e *LedgerEntry) core.Event {
	return core.Event{
		Type:      "balance." + what,
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
