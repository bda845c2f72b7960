package modeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment/cards"
)

// bank is a card provider in memory with one charge. It decides what the money does, and
// the service has to follow. It reports each change, and keeps what it reports.
type bank struct {
	currency core.Currency
	// settlement is the currency of the shop's account, which disputes take money from.
	settlement core.Currency
	terms      cards.Terms
	charged    bool
	refunds    []*cards.ChargeResult
	disputes   []*cards.DisputeReport
	// sent are the reports that no webhook has delivered yet.
	sent []cards.Report
	// losesAnswer lets the next refund happen without an answer, and undecided lets it begin.
	losesAnswer, undecided bool
	ids                    int
}

var _ cards.Gateway = (*bank)(nil)

const charge = "pi_1"

var errLost = errors.New("the answer is lost")

func (b *bank) id(prefix string) string {
	b.ids++
	return fmt.Sprintf("%s_%s_%d", prefix, b.terms.Payment, b.ids)
}

// chargeID is different for each payment, because a charge belongs to one.
func (b *bank) chargeID() string { return charge + "_" + b.terms.Payment }

// Charge captures the money, unless the bank has been told to decline at first.
func (b *bank) Charge(_ context.Context, c cards.ChargeRequest) (cards.ChargeResult, error) {
	b.terms = c.Terms
	if b.undecided {
		b.undecided = false
		return cards.ChargeResult{Terms: c.Terms, Outcome: cards.ChargeRefused, Reason: "generic_decline", ExternalID: b.chargeID()}, nil
	}
	b.charged = true
	return b.captured(), nil
}

func (b *bank) captured() cards.ChargeResult {
	return cards.ChargeResult{Terms: b.terms, Outcome: cards.ChargeSucceeded, Received: b.terms.Amount, ExternalID: b.chargeID()}
}

// left returns the units that a refund can return.
func (b *bank) left() int {
	left := units(b.terms.Amount)
	for _, r := range b.refunds {
		if r.Outcome != cards.ChargeRefused {
			left -= units(r.Amount)
		}
	}
	return left
}

// chargedBack reports whether a bank has taken money back, so that no refund is possible.
func (b *bank) chargedBack() bool {
	return slices.ContainsFunc(b.disputes, func(d *cards.DisputeReport) bool {
		return slices.Contains([]cards.DisputeStatus{cards.DisputeNeedsResponse, cards.DisputeUnderReview, cards.DisputeLost}, d.Status)
	})
}

// Refund makes a refund of ours, or finds one.
func (b *bank) Refund(_ context.Context, r cards.RefundRequest) (cards.ChargeResult, error) {
	for _, made := range b.refunds {
		if r.MadeID != "" && made.ExternalID == r.MadeID || r.MadeID == "" && made.Refund == r.Refund {
			return *made, nil
		}
	}
	switch {
	case r.MadeID != "":
		return cards.ChargeResult{}, errLost
	case b.chargedBack():
		return cards.ChargeResult{Terms: r.Terms, Outcome: cards.ChargeRefused, Reason: "charge_disputed"}, nil
	case b.left() < units(r.Amount):
		return cards.ChargeResult{}, cards.ErrReturnedElsewhere
	}
	made := b.make(r.Terms)
	if b.losesAnswer {
		b.losesAnswer = false
		return cards.ChargeResult{}, errLost
	}
	return *made, nil
}

// make makes a refund with the terms of whoever asks.
func (b *bank) make(terms cards.Terms) *cards.ChargeResult {
	made := &cards.ChargeResult{Terms: terms, Outcome: cards.ChargeSucceeded, ExternalID: b.id("re"), Charge: b.chargeID()}
	if b.undecided {
		b.undecided, made.Outcome = false, cards.ChargePending
	}
	b.refunds = append(b.refunds, made)
	b.report(cards.Report{Result: *made})
	return made
}

// decide ends a pending refund, or lets a successful one fail late.
func (b *bank) decide(made *cards.ChargeResult, outcome cards.ChargeOutcome) {
	if made.Outcome != cards.ChargeRefused {
		made.Outcome = outcome
		b.report(cards.Report{Result: *made})
	}
}

// open opens a dispute, which withdraws the amount unless it is an inquiry.
func (b *bank) open(amount int, status cards.DisputeStatus) {
	d := &cards.DisputeReport{Charge: b.chargeID(), Payment: b.terms.Payment, Dispute: cards.Dispute{
		ID: b.id("dp"), Amount: b.units(amount), Reason: "fraudulent",
		CreatedAt: time.Date(2026, time.March, 1, 0, 0, b.ids, 0, time.UTC),
	}}
	b.disputes = append(b.disputes, d)
	b.step(d, status)
}

// step moves a dispute to the next status, and moves the money.
func (b *bank) step(d *cards.DisputeReport, status cards.DisputeStatus) {
	withdrawn := false
	for _, moved := range d.Funds {
		withdrawn = !moved.Returned
	}
	d.Status = status
	before := *d
	b.report(cards.Report{Dispute: &before})
	switch {
	case !withdrawn && (status == cards.DisputeNeedsResponse || status == cards.DisputeLost):
		id := b.id("txn")
		d.Funds = append(slices.Clip(d.Funds), cards.DisputedFunds{ExternalID: id, Amount: b.settled(d.Amount, 3)},
			cards.DisputedFunds{ExternalID: id, Amount: unitsOf(b.settlement, 1), Fee: true})
	case withdrawn && status == cards.DisputeWon:
		d.Funds = append(slices.Clip(d.Funds), cards.DisputedFunds{ExternalID: b.id("txn"), Amount: b.settled(d.Amount, 2), Returned: true})
	default:
		return
	}
	after := *d
	b.report(cards.Report{Dispute: &after})
}

func (b *bank) report(r cards.Report) { b.sent = append(b.sent, r) }

// Reports lists everything that concerns the charge.
func (b *bank) Reports(context.Context, cards.ReportQuery) (all []cards.Report, _ error) {
	for _, r := range b.refunds {
		all = append(all, cards.Report{Result: *r})
	}
	for _, d := range b.disputes {
		copied := *d
		all = append(all, cards.Report{Dispute: &copied})
	}
	return all, nil
}

// Charges is not needed here.
func (b *bank) Charges(context.Context, time.Time) ([]cards.ProviderCharge, error) { return nil, nil }

// AmountRefusal lets every amount pass.
func (b *bank) AmountRefusal(core.Money) string { return "" }

// settled exchanges an amount for the currency of the shop's account, at a rate of that day.
func (b *bank) settled(m core.Money, rate int) core.Money {
	if b.settlement == b.currency {
		return m
	}
	return unitsOf(b.settlement, rate*units(m))
}

// holds returns the units that the charge has brought so far, by currency.
func (b *bank) holds() map[core.Currency]int {
	sums := map[core.Currency]int{}
	if !b.charged {
		return sums
	}
	sums[b.currency] = units(b.terms.Amount)
	for _, r := range b.refunds {
		if r.Outcome == cards.ChargeSucceeded {
			sums[b.currency] -= units(r.Amount)
		}
	}
	for _, d := range b.disputes {
		for _, moved := range d.Funds {
			if moved.Returned {
				sums[b.settlement] += units(moved.Amount)
			} else {
				sums[b.settlement] -= units(moved.Amount)
			}
		}
	}
	return sums
}

// units returns a number of the smallest units of the currency.
func (b *bank) units(n int) core.Money { return unitsOf(b.currency, n) }

func unitsOf(c core.Currency, n int) core.Money {
	m, err := core.MoneyOf(decimal.MustNew(int64(n), c.Decimals()), string(c))
	if err != nil {
		panic(err)
	}
	return m
}

// units returns the amount in the smallest units of its currency.
func units(m core.Money) int { return int(m.Amount().Coef()) }
