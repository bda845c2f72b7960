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

// What reconciliation looks at: everything of the last days that has had time to settle.
const (
	reconcileWindow = 72 * time.Hour
	settleTime      = 15 * time.Minute
)

// Mismatch is something that should be equal and is not. It names ids and amounts.
type Mismatch struct {
	Resource string
	Detail   string
}

// ReconciliationStore is our side of reconciliation. It only reads.
type ReconciliationStore interface {
	// Mismatches compares the books with themselves: balances with their entries,
	// refunds with payments, stock with holds, orders with payments.
	Mismatches(ctx context.Context) ([]Mismatch, error)
	// CardPayments gives card payments with their refunds: those made since then, those
	// of any age that wait for the provider, and those of these ids.
	CardPayments(ctx context.Context, since time.Time, ids []int64) ([]*Payment, error)
}

// ProviderCharge is a charge as the provider has it.
type ProviderCharge struct {
	PaymentID  int64
	ExternalID string
	Captured   bool
	Amount     core.Money
	// Refunded includes refunds that are still on their way.
	Refunded core.Money
}

// Reconciliation compares our books with themselves and with the provider's.
type Reconciliation struct {
	Store ReconciliationStore
	// Gateway is nil where cards are not accepted.
	Gateway Gateway
	Now     func() time.Time
}

// Run gives everything that differs. There should be nothing, ever.
func (r *Reconciliation) Run(ctx context.Context) ([]Mismatch, error) {
	differences, err := r.Store.Mismatches(ctx)
	if err != nil || r.Gateway == nil {
		return differences, err
	}
	now := r.Now()
	since, settled := now.Add(-reconcileWindow), now.Add(-settleTime)
	// First theirs, for a charge is made after our row; and a little more, for clocks differ.
	theirs, err := r.Gateway.Charges(ctx, since.Add(-time.Hour))
	if err != nil {
		return nil, fmt.Errorf("read the provider's charges: %w", err)
	}
	captured := map[int64][]ProviderCharge{}
	for _, c := range theirs {
		if c.Captured {
			captured[c.PaymentID] = append(captured[c.PaymentID], c)
		}
	}
	ours, err := r.Store.CardPayments(ctx, since, slices.Sorted(maps.Keys(captured)))
	if err != nil {
		return nil, err
	}
	return append(differences, compare(ours, captured, since, settled)...), nil
}

// compare finds payments that the provider has otherwise, and charges that are nobody's.
// Charges are known since then; what was asked for after settled is left for the next time.
func compare(ours []*Payment, captured map[int64][]ProviderCharge, since, settled time.Time) []Mismatch {
	var found []Mismatch
	report := func(paymentID int64, detail string) {
		found = append(found, Mismatch{Resource: "payment/" + strconv.FormatInt(paymentID, 10), Detail: detail})
	}
	strangers := maps.Clone(captured)
	for _, p := range ours {
		delete(strangers, p.ID)
		detail := p.undecided(settled)
		if detail == "" && (p.CreatedAt.After(since) || len(captured[p.ID]) > 0) {
			detail = p.differsFrom(captured[p.ID], settled)
		}
		if detail != "" {
			report(p.ID, detail)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(strangers)) {
		report(id, fmt.Sprintf("unknown here, and %d times captured by the provider", len(strangers[id])))
	}
	return found
}

// undecided says what the provider should have answered long ago, or nothing.
func (p *Payment) undecided(settled time.Time) string {
	if p.Status == Processing && !p.CreatedAt.After(settled) {
		return "still processing"
	}
	for _, r := range p.Refunds {
		if r.Status == RefundPending && !r.CreatedAt.After(settled) {
			return fmt.Sprintf("refund %d is still pending", r.ID)
		}
	}
	return ""
}

// differsFrom says how a payment differs from its charges, or nothing.
func (p *Payment) differsFrom(charges []ProviderCharge, settled time.Time) string {
	switch {
	case p.CreatedAt.After(settled):
		return ""
	case p.Status == Failed && len(charges) > 0:
		return "failed here, and captured by the provider"
	case p.Status == Failed:
		return ""
	case len(charges) != 1:
		return fmt.Sprintf("captured here, and %d times by the provider", len(charges))
	case !charges[0].Amount.Equal(p.Amount):
		return fmt.Sprintf("%s here, and %s at the provider", p.Amount, charges[0].Amount)
	case charges[0].Refunded.Equal(p.Refunded()) || p.refundedAfter(settled):
		return ""
	}
	return fmt.Sprintf("%s refunded here, and %s by the provider", p.Refunded(), charges[0].Refunded)
}

// refundedAfter tells whether a refund has not had its time yet.
func (p *Payment) refundedAfter(settled time.Time) bool {
	return slices.ContainsFunc(p.Refunds, func(r *Refund) bool { return r.CreatedAt.After(settled) })
}
