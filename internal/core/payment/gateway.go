package payment

import (
	"context"

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
	Charge(ctx context.Context, c CardCharge) (CardResult, error)
	// Refund gives money of a charge back, once for each key.
	Refund(ctx context.Context, r CardRefund) (CardResult, error)
}

// CardCharge is what the provider is asked to capture.
type CardCharge struct {
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

// CardRefund is what the provider is asked to give back.
type CardRefund struct {
	// Key makes the call idempotent; it is made of our own refund's id.
	Key       string
	RefundID  int64
	PaymentID int64
	Amount    core.Money
	// ExternalID is the provider's name of the charge.
	ExternalID string
	Again      bool
}

// CardOutcome is what a provider says of a charge or a refund.
type CardOutcome int

// The outcomes. There is none for "unknown": that is an error, or CardPending.
const (
	// CardPending: the provider knows of it and has not decided.
	CardPending CardOutcome = iota
	// CardDone: the money moved.
	CardDone
	// CardRefused: the money did not move, and will not.
	CardRefused
)

// CardResult is a provider's answer.
type CardResult struct {
	Outcome CardOutcome
	// ExternalID is the provider's name of the charge or the refund.
	ExternalID string
	// Reason is why it was refused, as a short code.
	Reason string
}
