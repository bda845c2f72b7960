package payment

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"example.com/orders/internal/core"
)

// What reconciliation looks at: everything of the last days that has had time to settle.
const (
	reconcileWindow = 72 * time.Hour
	settleTime      = 15 * time.Minute
)

// Difference is something that should be equal and is not. It names ids and amounts.
type Difference struct {
	Resource string
	Detail   string
}

// Books is our side of reconciliation. It only reads.
type Books interface {
	// Differences compares the books with themselves: balances with their movements,
	// refunds with payments, stock with holds, orders with payments.
	Differences(ctx context.Context) ([]Difference, error)
	// CardPayments gives the card payments made in a span of time, with their refunds.
	CardPayments(ctx context.Context, from, to time.Time) ([]*Payment, error)
}

// Statement is the provider's side of reconciliation.
type Statement interface {
	// Charges gives all charges made since then that name a payment of ours.
	Charges(ctx context.Context, since time.Time) ([]ProviderCharge, error)
}

// ProviderCharge is a charge as the provider has it.
type ProviderCharge struct {
	PaymentID  int64
	ExternalID string
	Captured   bool
	Amount     core.Money
	Refunded   core.Money
}

// Reconciliation compares our books with themselves and with the provider's.
type Reconciliation struct {
	Books Books
	// Statement is nil where cards are not accepted.
	Statement Statement
	Now       func() time.Time
}

// Run gives everything that differs. There should be nothing, ever.
func (r *Reconciliation) Run(ctx context.Context) ([]Difference, error) {
	differences, err := r.Books.Differences(ctx)
	if err != nil || r.Statement == nil {
		return differences, err
	}
	now := r.Now()
	ours, err := r.Books.CardPayments(ctx, now.Add(-reconcileWindow), now.Add(-settleTime))
	if err != nil {
		return nil, err
	}
	// A little more than our window, for the provider is asked after we have written.
	theirs, err := r.Statement.Charges(ctx, now.Add(-reconcileWindow-time.Hour))
	if err != nil {
		return nil, fmt.Errorf("read the provider's charges: %w", err)
	}
	return append(differences, compare(ours, theirs)...), nil
}

// compare finds payments that the provider has otherwise, and charges beside the one
// that a payment has.
func compare(ours []*Payment, theirs []ProviderCharge) []Difference {
	charges := map[int64][]ProviderCharge{}
	for _, c := range theirs {
		if c.Captured {
			charges[c.PaymentID] = append(charges[c.PaymentID], c)
		}
	}
	var found []Difference
	for _, p := range ours {
		if detail := p.differsFrom(charges[p.ID]); detail != "" {
			found = append(found, Difference{Resource: "payment/" + strconv.FormatInt(p.ID, 10), Detail: detail})
		}
	}
	return found
}

// differsFrom says how a settled payment and its charges differ, or nothing.
func (p *Payment) differsFrom(charges []ProviderCharge) string {
	switch {
	case p.Status == Processing:
		return "" // still being asked for
	case p.Status == Failed && len(charges) > 0:
		return "failed here, and captured by the provider"
	case p.Status == Failed:
		return ""
	case len(charges) != 1:
		return fmt.Sprintf("captured here, and %d times by the provider", len(charges))
	case !charges[0].Amount.Equal(p.Amount):
		return fmt.Sprintf("%s here, and %s at the provider", p.Amount, charges[0].Amount)
	case !p.refundsPending() && !charges[0].Refunded.Equal(p.Refunded()):
		return fmt.Sprintf("%s refunded here, and %s by the provider", p.Refunded(), charges[0].Refunded)
	}
	return ""
}

func (p *Payment) refundsPending() bool {
	for _, r := range p.Refunds {
		if r.Status == RefundPending {
			return true
		}
	}
	return false
}
