package payment

import (
	"context"
	"fmt"
	"regexp"
)

// Mismatch describes two values that should be equal but differ. It names ids and
// amounts.
type Mismatch struct {
	Resource string
	Detail   string
}

// A result counts only if it matches our request. Provider responses and events pass
// the same checks: a signature proves who sent an event, not that it is about our
// payment.

var (
	plainID   = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
	shortCode = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
)

// UnknownReason is the reason of a refusal with an unknown or unreadable code.
const UnknownReason = "unknown_reason"

// code returns the reason as a short code, which the API and events can carry.
func (r ChargeResult) code() string {
	if r.Reason == "" || shortCode.MatchString(r.Reason) {
		return r.Reason
	}
	return UnknownReason
}

// difference describes how a result differs from these terms, or returns "".
func (t Terms) difference(r ChargeResult) string {
	switch {
	case r.Payment != t.Payment || r.Refund != t.Refund:
		return fmt.Sprintf("the provider names %.80q and %.80q", r.Payment, r.Refund)
	case r.OrderID != t.OrderID:
		return fmt.Sprintf("order %d here, and order %d at the provider", t.OrderID, r.OrderID)
	case !r.Amount.Equal(t.Amount):
		return fmt.Sprintf("%s here, and %s at the provider", t.Amount, r.Amount)
	case r.ExternalID == "" && r.Outcome == ChargeRefused:
		return "" // refused before the provider stored anything
	case !plainID.MatchString(r.ExternalID):
		return "the provider's id is not 1–255 printable ASCII characters"
	}
	return ""
}

// difference describes how a charge result differs from the payment, or returns "".
func (p *Payment) difference(r ChargeResult) string {
	detail := p.terms().difference(r)
	if detail == "" && r.Outcome == ChargeSucceeded && !r.Received.Equal(p.Amount) {
		return fmt.Sprintf("%s here, and %s received by the provider", p.Amount, r.Received)
	}
	return detail
}

// chargeMismatch returns how a result differs from a payment, or nil. A charge for a
// different payment also differs.
func (tx Tx) chargeMismatch(ctx context.Context, p *Payment, result ChargeResult) (*Mismatch, error) {
	detail := p.difference(result)
	if detail == "" && result.ExternalID != "" && result.ExternalID != p.Card.ExternalID {
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
func (tx Tx) refundMismatch(ctx context.Context, p *Payment, r *Refund, result ChargeResult) (*Mismatch, error) {
	detail := r.terms(p).difference(result)
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
