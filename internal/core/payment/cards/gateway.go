// Package cards holds the requests to a card provider, and the provider's reports.
package cards

import (
	"context"
	"errors"
	"time"

	"example.com/orders/internal/core"
)

// Gateway is a card payment provider. It is never called inside a transaction.
//
// An error means that the outcome is unknown: the provider may have moved the money or
// not. The caller repeats the call with the same key until the provider answers. It
// never charges under a new key, and a timeout never fails a payment.
type Gateway interface {
	// Charge captures money from a card, once per key.
	Charge(ctx context.Context, c ChargeRequest) (ChargeResult, error)
	// Refund returns the money of a charge to the card, once per key.
	Refund(ctx context.Context, r RefundRequest) (ChargeResult, error)
	// AmountRefusal returns why the provider cannot take or return an amount, or "". It
	// does not call the provider.
	AmountRefusal(amount core.Money) string
	// Charges lists the charges for our payments that were created or refunded since the
	// given time.
	Charges(ctx context.Context, since time.Time) ([]ProviderCharge, error)
	// Reports lists the refunds of our charges, whoever made them, and the disputes.
	Reports(ctx context.Context, q ReportQuery) ([]Report, error)
}

// ReportQuery selects reports about one charge, or those of a period.
type ReportQuery struct {
	Charge   string
	From, To time.Time
}

// ErrReturnedElsewhere means that the provider refuses a refund because it has returned
// more than this service knows. It is no decision about the refund.
var ErrReturnedElsewhere = errors.New("the provider has returned money that is unknown here")

// Terms identify a charge or a refund. The provider stores the keys and the order with
// it.
type Terms struct {
	// Payment is the payment key, which makes a charge idempotent.
	Payment string
	// Refund is the refund key, which makes a refund idempotent. It is empty for a
	// charge.
	Refund  string
	OrderID int64
	Amount  core.Money
}

// ChargeRequest asks the provider to capture money.
type ChargeRequest struct {
	Terms
	// PaymentID helps people who look at the charge. It is not a key.
	PaymentID int64
	// Token stands for the card. This service never sees card numbers.
	Token string
	// Retry reports that the call may have been made before. The gateway then looks for
	// an earlier result first, and charges only if it finds no such result.
	Retry bool
}

// RefundRequest asks the provider to refund money.
type RefundRequest struct {
	Terms
	// PaymentID and RefundID help people who look at the refund. They are not keys.
	PaymentID int64
	RefundID  int64
	// ExternalID is the provider's charge id.
	ExternalID string
	// MadeID is the provider's id of a refund made there. Such a refund is looked up, and
	// never made.
	MadeID string
	Retry  bool
}

// ChargeOutcome is the provider's decision about a charge or a refund.
type ChargeOutcome int

// The outcomes. An unknown outcome is an error instead.
const (
	// ChargePending: the provider knows the request and has not decided.
	ChargePending ChargeOutcome = iota
	// ChargeSucceeded: the money moved.
	ChargeSucceeded
	// ChargeRefused: the money did not move and never will.
	ChargeRefused
)

// ChargeResult is a response from the provider, or an unasked event.
type ChargeResult struct {
	// Terms are reported by the provider. If it refused a request before storing
	// anything, they are those in the request.
	Terms
	Outcome ChargeOutcome
	// Received is the amount that a successful charge moved.
	Received core.Money
	// ExternalID is the provider's charge or refund id.
	ExternalID string
	// Charge is the id of the charge that a refund returns, if the provider says it.
	Charge string
	// Reason is a short code for the refusal.
	Reason string
	// Note is the reason that a person gave for a refund at the provider.
	Note string
}

// Report is the provider's report about a charge, a refund of it, or a dispute.
type Report struct {
	Result ChargeResult
	// Dispute is set instead of the result.
	Dispute *DisputeReport
}

// Key returns our payment key, if the provider says it.
func (r Report) Key() string {
	if r.Dispute != nil {
		return r.Dispute.Payment
	}
	return r.Result.Payment
}

// IsEmpty reports whether the report is about nothing of this service.
func (r Report) IsEmpty() bool {
	return r.Result.Payment == "" && r.Result.Charge == "" && r.Dispute == nil
}

// ProviderCharge is a charge as the provider reports it.
type ProviderCharge struct {
	Terms
	ExternalID string
	Captured   bool
	// Received is the captured amount, zero before a capture.
	Received core.Money
	// Refunded includes pending refunds.
	Refunded core.Money
}
