package payment

import (
	"context"
	"fmt"

	"example.com/orders/internal/core/payment/cards"
)

// Mismatch describes two values that should be equal but differ. It names ids and
// amounts.
type Mismatch struct {
	Resource string
	Detail   string
}

// difference describes how a charge result differs from the payment, or returns "".
func (p *Payment) difference(r cards.ChargeResult) string {
	detail := p.terms().Difference(r)
	if detail == "" && r.Outcome == cards.ChargeSucceeded && !r.Received.Equal(p.Amount) {
		return fmt.Sprintf("%s here, and %s received by the provider", p.Amount, r.Received)
	}
	return detail
}

// chargeMismatch returns how a result differs from a payment, or nil. A charge for a
// different payment also differs, and so does another one than a decided payment has. Only
// a late capture may be another charge: all of it is given back.
func (tx Tx) chargeMismatch(ctx context.Context, p *Payment, result cards.ChargeResult) (*Mismatch, error) {
	detail := p.difference(result)
	another := result.ExternalID != "" && result.ExternalID != p.Card.ExternalID
	if detail == "" && another && p.Card.ExternalID != "" && (p.Status == Captured || len(p.Refunds) > 0) {
		detail = fmt.Sprintf("the charge %s here, and %s at the provider", p.Card.ExternalID, result.ExternalID)
	}
	if detail == "" && another {
		other, err := tx.Payments.OfCharge(ctx, result.ExternalID)
		if err != nil {
			return nil, err
		}
		if other != 0 {
			detail = fmt.Sprintf("%s is the charge of payment %d", result.ExternalID, other)
		}
	}
	if detail == "" {
		return nil, nil
	}
	return &Mismatch{Resource: paymentResource(p.ID), Detail: detail}, nil
}

// refundMismatch is chargeMismatch for a refund of p.
func (tx Tx) refundMismatch(ctx context.Context, p *Payment, r *Refund, result cards.ChargeResult) (*Mismatch, error) {
	detail := r.terms(p).Difference(result)
	if detail == "" && result.Charge != "" && result.Charge != p.Card.ExternalID {
		detail = fmt.Sprintf("the charge %s here, and %.80q at the provider", p.Card.ExternalID, result.Charge)
	}
	if detail == "" && result.ExternalID != "" && result.ExternalID != r.ExternalID {
		other, err := tx.Refunds.OfExternal(ctx, result.ExternalID)
		if err != nil {
			return nil, err
		}
		if other != 0 {
			detail = fmt.Sprintf("%s belongs to refund %d", result.ExternalID, other)
		}
	}
	if detail == "" {
		return nil, nil
	}
	return &Mismatch{Resource: refundResource(r.ID), Detail: detail}, nil
}
