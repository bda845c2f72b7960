package payment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"example.com/orders/internal/core"
)

// Reconciliation covers the last days, except for what has not had time to settle.
const (
	reconcileWindow = 72 * time.Hour
	settleTime      = 15 * time.Minute
)

// Mismatch is two values that should be equal but differ. It names ids and amounts.
type Mismatch struct {
	Resource string
	Detail   string
}

// ReconciliationStore reads our side of the reconciliation.
type ReconciliationStore interface {
	// Compare compares the next of our rows with what belongs to them: orders with
	// payments, payments with refunds and ledger entries, stock with reservations,
	// balances with ledger entries. It begins at a position, the empty one at first, and
	// reads at most limit rows of the table that it goes through. It returns the position
	// of what comes next, or the empty one after the last row.
	Compare(ctx context.Context, position string, limit int) (found []Mismatch, next string, err error)
	// CardPayments returns card payments with their refunds: those created since then,
	// those of any age that wait for the provider, and those with these UUIDs.
	CardPayments(ctx context.Context, since time.Time, uuids []string) ([]*Payment, error)
}

// ProviderCharge is a charge as the provider reports it.
type ProviderCharge struct {
	Terms
	ExternalID string
	Captured   bool
	// Received is what was captured, zero if nothing was.
	Received core.Money
	// Refunded includes pending refunds.
	Refunded core.Money
}

// Reconciliation compares our data with itself and with the provider's, and gives back
// what the provider captured for payments that have failed. In a healthy system there is
// no mismatch.
type Reconciliation struct {
	Store    ReconciliationStore
	Progress ReconciliationProgress
	// Every is how long after a complete pass the next one begins.
	Every time.Duration
	// Report is called for each mismatch, and once more if its step is repeated.
	Report func(Mismatch)
	// Payments refunds late captures.
	Payments *Service
	// Gateway is nil where cards are not accepted.
	Gateway Gateway
	Now     func() time.Time
}

// compareCharges compares the provider's charges with our payments, after it has given
// back late captures.
func (r *Reconciliation) compareCharges(ctx context.Context) ([]Mismatch, error) {
	now := r.Now()
	since, settled := now.Add(-reconcileWindow), now.Add(-settleTime)
	// The provider's charges are read first, because each is made after our row exists.
	// The extra hour allows for clocks that differ.
	charges, err := r.Gateway.Charges(ctx, since.Add(-time.Hour))
	if err != nil {
		return nil, fmt.Errorf("read the provider's charges: %w", err)
	}
	captured := capturedCharges(charges)
	payments, err := r.Store.CardPayments(ctx, since, captured.uuids())
	if err != nil {
		return nil, err
	}
	for _, p := range payments {
		if err := r.returnLateCapture(ctx, p, captured[p.Key()], settled); err != nil {
			return nil, err
		}
	}
	return compare(payments, captured, since, settled), nil
}

// returnLateCapture applies the only charge of a payment that has failed here, as a
// webhook would. If the charge differs from the payment, compare reports it.
func (r *Reconciliation) returnLateCapture(ctx context.Context, p *Payment, charges []ProviderCharge, settled time.Time) error {
	if p.Status != Failed || len(charges) != 1 || len(p.Refunds) > 0 || p.CreatedAt.After(settled) {
		return nil
	}
	c := charges[0]
	refunds, err := r.Payments.recordLateCapture(ctx, p.ID, ChargeResult{
		Terms: c.Terms, Outcome: ChargeSucceeded, Received: c.Received, ExternalID: c.ExternalID,
	})
	p.Refunds = refunds
	return err
}

// chargesByPayment is what the provider captured, by the key of the payment.
type chargesByPayment map[string][]ProviderCharge

func capturedCharges(charges []ProviderCharge) chargesByPayment {
	captured := chargesByPayment{}
	for _, c := range charges {
		if c.Captured {
			captured[c.Payment] = append(captured[c.Payment], c)
		}
	}
	return captured
}

// uuids returns the UUIDs in the keys. It leaves out keys that are not ours.
func (captured chargesByPayment) uuids() []string {
	var found []string
	for key := range captured {
		if uuid, ok := uuidIn(key, paymentKeys); ok {
			found = append(found, uuid)
		}
	}
	return found
}

// compare returns the payments that differ from their charges, and the charges of
// unknown payments. The charges are complete from since on; requests after settled are
// compared in a later pass.
func compare(payments []*Payment, captured chargesByPayment, since, settled time.Time) []Mismatch {
	var found []Mismatch
	unknown := maps.Clone(captured)
	for _, p := range payments {
		charges := captured[p.Key()]
		delete(unknown, p.Key())
		detail := p.undecided(settled)
		if detail == "" && (p.CreatedAt.After(since) || len(charges) > 0) {
			detail = p.mismatch(charges, settled)
		}
		if detail != "" {
			found = append(found, Mismatch{Resource: paymentResource(p.ID), Detail: detail})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(unknown)) {
		for _, c := range unknown[key] {
			found = append(found, Mismatch{Resource: "charge/" + c.ExternalID, Detail: fmt.Sprintf("captured by the provider for %q, which is unknown here", key)})
		}
	}
	return found
}

// undecided names what the provider should have decided long ago, or returns "".
func (p *Payment) undecided(settled time.Time) string {
	if p.Status == Processing && !p.CreatedAt.After(settled) {
		return "still processing"
	}
	for _, r := range p.Refunds {
		if r.Status == RefundPending && !r.CreatedAt.After(settled) {
			return "refund " + strconv.FormatInt(r.ID, 10) + " is still pending"
		}
	}
	return ""
}

// mismatch describes how a payment differs from its charges, or returns "".
func (p *Payment) mismatch(charges []ProviderCharge, settled time.Time) string {
	switch {
	case p.CreatedAt.After(settled):
		return ""
	case p.Status == Failed && len(charges) == 0:
		return ""
	case p.Status == Failed && p.Refunded().IsZero():
		return "failed here, and captured by the provider"
	case p.Status == Failed && len(charges) > 1:
		return fmt.Sprintf("failed here, and %d times captured by the provider", len(charges))
	case len(charges) != 1:
		return fmt.Sprintf("captured here, and %d times by the provider", len(charges))
	case !charges[0].Amount.Equal(p.Amount):
		return fmt.Sprintf("%s here, and %s at the provider", p.Amount, charges[0].Amount)
	case !charges[0].Received.Equal(p.Amount):
		return p.receivedOnly(charges[0].Received)
	case charges[0].Refunded.Equal(p.Refunded()) || p.refundedAfter(settled):
		return ""
	}
	return fmt.Sprintf("%s refunded here, and %s by the provider", p.Refunded(), charges[0].Refunded)
}

// refundedAfter reports whether a refund has not had time to settle yet.
func (p *Payment) refundedAfter(settled time.Time) bool {
	return slices.ContainsFunc(p.Refunds, func(r *Refund) bool { return r.CreatedAt.After(settled) })
}
