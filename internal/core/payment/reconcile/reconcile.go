// Package reconcile compares orders, payments, the ledger and the records of the card
// provider.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

// The comparison with the provider covers the payments and refunds from Window, except
// for those younger than SettleTime, which may not have settled.
const (
	Window     = 72 * time.Hour
	SettleTime = 15 * time.Minute
)

// LeftOut counts card payments that were not compared with charges at the provider.
type LeftOut struct {
	// Recent payments, or their refunds, are younger than SettleTime.
	Recent int
	// Old payments, and their refunds, are older than Window, and the provider names no
	// charge for them.
	Old int
	// Unreadable payments, or their refunds, have an amount that is no number.
	Unreadable int
	// Unasked payments have no provider that could be asked.
	Unasked int
}

// Store reads our side.
type Store interface {
	// Compare compares the next rows with related ones: orders with payments, payments
	// with refunds and ledger entries, stock with reservations, balances with ledger
	// entries. It starts at a position, at first "", and reads at most limit rows of
	// the current table. It returns the next position, or "" after the last row.
	Compare(ctx context.Context, position string, limit int) (found []payment.Mismatch, next string, err error)
	// CardPayments returns card payments with their refunds: those created or refunded
	// since then, those still waiting for the provider, and those with these UUIDs. It
	// also returns the keys of payments that it cannot read; Compare names these.
	CardPayments(ctx context.Context, since time.Time, uuids []string) (found []*payment.Payment, unreadable []string, err error)
	// CountCardPayments returns the number of card payments.
	CountCardPayments(ctx context.Context) (int64, error)
	// DisputedCharges returns the provider's ids of charges with an open dispute.
	DisputedCharges(ctx context.Context) ([]string, error)
}

// Service compares our data with itself and with the provider's. It adopts refunds and
// disputes that no event has reported, and refunds late captures: money that the provider
// captured for failed payments. A healthy system has no mismatch.
type Service struct {
	Store    Store
	Progress Progress
	// Every is the pause between a complete pass and the next one.
	Every time.Duration
	// Report is called for each mismatch, and again if its step is repeated.
	Report func(payment.Mismatch)
	// Payments adopts refunds and disputes, and refunds late captures; nil only reports them.
	Payments *payment.Service
	// Gateway is nil where cards are not accepted.
	Gateway cards.Gateway
	Now     func() time.Time
}

// compareCharges adopts the provider's reports and refunds late captures, then compares
// the provider's charges with our payments. It also compares if one of that fails, and
// returns that error.
func (s *Service) compareCharges(ctx context.Context) (found []payment.Mismatch, seen compared, err error) {
	now := s.Now()
	since, settled := now.Add(-Window), now.Add(-SettleTime)
	// Read the charges first, because each is made after our row exists. The extra hour
	// allows for clock skew.
	charges, err := s.Gateway.Charges(ctx, since.Add(-time.Hour))
	if err != nil {
		return nil, seen, fmt.Errorf("read the provider's charges: %w", err)
	}
	reports, err := s.readReports(ctx, since, settled)
	if err != nil {
		return nil, seen, err
	}
	adopting := s.adopt(ctx, reports)
	captured := capturedCharges(charges)
	payments, unreadable, err := s.Store.CardPayments(ctx, since, append(uuids(captured), uuids(reports)...))
	if err != nil {
		return nil, seen, errors.Join(adopting, err)
	}
	err = adopting
	for _, key := range unreadable {
		delete(captured, key)
	}
	for _, p := range payments {
		err = errors.Join(err, s.returnLateCapture(ctx, p, captured[p.Key()], settled))
	}
	seen = countPayments(payments, settled)
	seen.unreadable = len(unreadable)
	return compare(payments, captured, reports, since, settled), seen, err
}

// reportsByPayment holds the provider's reports about refunds and disputes, by payment
// key.
type reportsByPayment map[string][]cards.Report

// readReports reads the refunds and disputes that began in the period, and those of all
// charges with an open dispute: banks take months.
func (s *Service) readReports(ctx context.Context, from, to time.Time) (reportsByPayment, error) {
	charges, err := s.Store.DisputedCharges(ctx)
	if err != nil {
		return nil, err
	}
	queries := []cards.ReportQuery{{From: from, To: to}}
	for _, charge := range charges {
		queries = append(queries, cards.ReportQuery{Charge: charge})
	}
	found := reportsByPayment{}
	for _, query := range queries {
		reports, err := s.Gateway.Reports(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("read the provider's refunds and disputes: %w", err)
		}
		for _, r := range reports {
			found[r.Key()] = append(found[r.Key()], r)
		}
	}
	return found, nil
}

// adopt applies reports as provider events would. Those that differ from our payments are
// found by the comparison.
func (s *Service) adopt(ctx context.Context, reports reportsByPayment) (err error) {
	if s.Payments == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(reports)) {
		_, failed := s.Payments.ApplyReports(ctx, reports[key])
		err = errors.Join(err, failed)
	}
	return err
}

// compared counts the payments that were read for the comparison, those among them that
// are too recent for it, and those that could not be read.
type compared struct{ payments, recent, unreadable int }

func countPayments(payments []*payment.Payment, settled time.Time) compared {
	seen := compared{payments: len(payments)}
	for _, p := range payments {
		if p.CreatedAt.After(settled) || refundedAfter(p, settled) {
			seen.recent++
		}
	}
	return seen
}

// returnLateCapture applies the only charge for a payment that failed here, as a
// webhook would. If the charge differs from the payment, compare reports it.
func (s *Service) returnLateCapture(ctx context.Context, p *payment.Payment, charges []cards.ProviderCharge, settled time.Time) error {
	if s.Payments == nil || p.Status != payment.Failed || len(charges) != 1 || len(p.Refunds) > 0 || p.CreatedAt.After(settled) {
		return nil
	}
	c := charges[0]
	refunds, err := s.Payments.ReturnLateCapture(ctx, p.ID, cards.ChargeResult{
		Terms: c.Terms, Outcome: cards.ChargeSucceeded, Received: c.Received, ExternalID: c.ExternalID,
	})
	p.Refunds = refunds
	return err
}

// chargesByPayment holds the captured charges by payment key.
type chargesByPayment map[string][]cards.ProviderCharge

func capturedCharges(charges []cards.ProviderCharge) chargesByPayment {
	captured := chargesByPayment{}
	for _, c := range charges {
		if c.Captured {
			captured[c.Payment] = append(captured[c.Payment], c)
		}
	}
	return captured
}

// uuids returns the UUIDs in our keys. It skips foreign keys.
func uuids[V any](byKey map[string]V) []string {
	var found []string
	for key := range byKey {
		if uuid, ok := cards.PaymentUUID(key); ok {
			found = append(found, uuid)
		}
	}
	return found
}

// compare returns the payments that differ from their charges, and the charges for
// unknown payments. The charges are complete since the given time; a later pass
// compares requests newer than settled.
func compare(
	payments []*payment.Payment, captured chargesByPayment, reports reportsByPayment, since, settled time.Time,
) []payment.Mismatch {
	var found []payment.Mismatch
	unknown := maps.Clone(captured)
	for _, p := range payments {
		charges := captured[p.Key()]
		delete(unknown, p.Key())
		detail := cmp.Or(undecided(p, settled), notAdopted(p, reports[p.Key()]))
		switch {
		case detail != "":
		case p.CreatedAt.After(since) || len(charges) > 0:
			detail = mismatch(p, charges, settled)
		default:
			detail = unknownRefund(p, since, settled)
		}
		if detail != "" {
			found = append(found, payment.Mismatch{Resource: fmt.Sprintf("payment/%d", p.ID), Detail: detail})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(unknown)) {
		for _, c := range unknown[key] {
			found = append(found, payment.Mismatch{Resource: "charge/" + c.ExternalID, Detail: fmt.Sprintf("captured by the provider for %q, which is unknown here", key)})
		}
	}
	return found
}

// undecided names a payment or refund that the provider should have decided long ago,
// or returns "".
func undecided(p *payment.Payment, settled time.Time) string {
	if p.Status == payment.Processing && !p.CreatedAt.After(settled) {
		return "still processing"
	}
	for _, r := range p.Refunds {
		if r.Status == payment.RefundPending && !r.CreatedAt.After(settled) {
			return "refund " + strconv.FormatInt(r.ID, 10) + " is still pending"
		}
	}
	return ""
}

// notAdopted names a refund or a dispute of the provider that our payment does not show, or
// returns "".
func notAdopted(p *payment.Payment, reports []cards.Report) string {
	for _, report := range reports {
		if d := report.Dispute; d != nil {
			i := slices.IndexFunc(p.Disputes, func(ours *cards.Dispute) bool { return ours.ID == d.ID && ours.Status == d.Status })
			if i < 0 {
				return fmt.Sprintf("the dispute %s is %s at the provider, and not here", d.ID, d.Status)
			}
			continue
		}
		result := report.Result
		i := slices.IndexFunc(p.Refunds, func(r *payment.Refund) bool { return r.ExternalID == result.ExternalID || r.Key() == result.Refund })
		if result.Outcome != cards.ChargeRefused && (i < 0 || p.Refunds[i].Status == payment.RefundFailed) {
			return fmt.Sprintf("the refund %s of %s at the provider, and not here", result.ExternalID, result.Amount)
		}
	}
	return ""
}

// mismatch describes how a payment differs from its charges, or returns "".
func mismatch(p *payment.Payment, charges []cards.ProviderCharge, settled time.Time) string {
	switch {
	case p.CreatedAt.After(settled):
		return ""
	case p.Status == payment.Failed && len(charges) == 0:
		return ""
	case p.Status == payment.Failed && !p.Refundable().IsZero():
		return "failed here, and captured by the provider"
	case p.Status == payment.Failed && len(charges) > 1:
		return fmt.Sprintf("failed here, and %d times captured by the provider", len(charges))
	case len(charges) != 1:
		return fmt.Sprintf("captured here, and %d times by the provider", len(charges))
	case charges[0].ExternalID != p.Card.ExternalID:
		return fmt.Sprintf("the charge %s here, and %s at the provider", p.Card.ExternalID, charges[0].ExternalID)
	case !charges[0].Amount.Equal(p.Amount):
		return fmt.Sprintf("%s here, and %s at the provider", p.Amount, charges[0].Amount)
	case !charges[0].Received.Equal(p.Amount):
		return fmt.Sprintf("%s here, and %s received by the provider", p.Amount, charges[0].Received)
	case charges[0].Refunded.Equal(p.Refunded()) || refundedAfter(p, settled):
		return ""
	}
	return fmt.Sprintf("%s refunded here, and %s by the provider", p.Refunded(), charges[0].Refunded)
}

// unknownRefund names a recent refund for an old payment that the provider does not list,
// or returns "".
func unknownRefund(p *payment.Payment, since, settled time.Time) string {
	for _, r := range p.Refunds {
		if r.Status == payment.RefundSucceeded && r.CreatedAt.After(since) && !r.CreatedAt.After(settled) {
			return fmt.Sprintf("refund %d of %s here, and unknown to the provider", r.ID, r.Amount)
		}
	}
	return ""
}

// refundedAfter reports whether a refund may not have settled yet.
func refundedAfter(p *payment.Payment, settled time.Time) bool {
	return slices.ContainsFunc(p.Refunds, func(r *payment.Refund) bool { return r.CreatedAt.After(settled) })
}
