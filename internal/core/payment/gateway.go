package payment

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Gateway is a provider of card payments. It is never called inside a transaction.
//
// An error means that the outcome is unknown: the provider may have moved the money or
// not. The caller repeats the call with the same key until the provider answers. It
// never charges under another key, and a timeout never makes a payment fail.
type Gateway interface {
	// Charge captures money from a card, once for each key.
	Charge(ctx context.Context, c ChargeRequest) (ChargeResult, error)
	// Refund returns money of a charge to the card, once for each key.
	Refund(ctx context.Context, r RefundRequest) (ChargeResult, error)
	// Charges lists the charges of our payments that were created since the given time.
	Charges(ctx context.Context, since time.Time) ([]ProviderCharge, error)
}

// Terms are what a charge or a refund is about. The provider stores the keys and the
// order with it.
type Terms struct {
	// Payment is the key of the payment, and makes a charge idempotent.
	Payment string
	// Refund is the key of the refund, and makes a refund idempotent. It is empty for a
	// charge.
	Refund  string
	OrderID int64
	Amount  core.Money
}

// ChargeRequest asks the provider to capture money.
type ChargeRequest struct {
	Terms
	// PaymentID is for people who look at the charge. It identifies nothing.
	PaymentID int64
	// Token stands for the card. This service never sees card numbers.
	Token string
	// Retry reports that the call may have been made before. The provider is asked for
	// the result of that call first, and to charge only if there was none.
	Retry bool
}

// RefundRequest asks the provider to refund money.
type RefundRequest struct {
	Terms
	// PaymentID and RefundID are for people who look at the refund. They identify nothing.
	PaymentID int64
	RefundID  int64
	// ExternalID is the provider's id of the charge.
	ExternalID string
	Retry      bool
}

// ChargeOutcome is what the provider says about a charge or a refund.
type ChargeOutcome int

// The outcomes. None means "unknown": that is an error.
const (
	// ChargePending: the provider knows the request and has not decided.
	ChargePending ChargeOutcome = iota
	// ChargeSucceeded: the money moved.
	ChargeSucceeded
	// ChargeRefused: the money did not move and never will.
	ChargeRefused
)

// ChargeResult is a provider's answer, or what it sends on its own.
type ChargeResult struct {
	// Terms are those of the charge or the refund as the provider reports them. If a
	// request was refused before the provider stored anything, they are those of the
	// request.
	Terms
	Outcome ChargeOutcome
	// Received is the part of the amount that a successful charge moved.
	Received core.Money
	// ExternalID is the provider's id of the charge or the refund.
	ExternalID string
	// Reason is a short code that says why the provider refused.
	Reason string
}
