package payment

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Gateway is a provider of card payments (PSP). It is never called inside a
// transaction.
//
// An error means that nobody knows: the provider may have moved the money or not. Then
// the same call is made again, with the same key, until it answers; nothing is ever
// charged under another key, and no time-out makes a payment fail.
type Gateway interface {
	// Charge captures money from a card, once for each key.
	Charge(ctx context.Context, c ChargeRequest) (ChargeResult, error)
	// Refund gives money of a charge back, once for each key.
	Refund(ctx context.Context, r RefundRequest) (ChargeResult, error)
	// Charges lists the charges made since then that name a payment of ours.
	Charges(ctx context.Context, since time.Time) ([]ProviderCharge, error)
}

// ChargeRequest is what the provider is asked to capture.
type ChargeRequest struct {
	// Key makes the call idempotent; it is made of our own payment's id.
	Key       string
	PaymentID int64
	OrderID   int64
	Amount    core.Money
	// Token stands for the card; its number never comes here.
	Token string
	// Again tells that the call may have been made before, so that the provider is asked
	// what became of it before it is asked to charge.
	Again bool
}

// RefundRequest is what the provider is asked to give back.
type RefundRequest struct {
	// Key makes the call idempotent; it is made of our own refund's id.
	Key       string
	RefundID  int64
	PaymentID int64
	Amount    core.Money
	// ExternalID is the provider's name of the charge.
	ExternalID string
	Again      bool
}

// ChargeOutcome is what a provider says of a charge or a refund.
type ChargeOutcome int

// The outcomes. There is none for "unknown": that is an error, or ChargePending.
const (
	// ChargePending: the provider knows of it and has not decided.
	ChargePending ChargeOutcome = iota
	// ChargeSucceeded: the money moved.
	ChargeSucceeded
	// ChargeRefused: the money did not move, and will not.
	ChargeRefused
)

// ChargeResult is a provider's answer.
type ChargeResult struct {
	Outcome ChargeOutcome
	// ExternalID is the provider's name of the charge or the refund.
	ExternalID string
	// Reason is why it was refused, as a short code.
	Reason string
}
