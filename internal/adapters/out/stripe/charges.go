package stripe

import (
	"context"
	"fmt"
	"time"

	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment/cards"
)

// Charges returns our charges created or refunded at since or later, each once. It
// skips other charges in the same account.
func (g *Gateway) Charges(ctx context.Context, since time.Time) ([]cards.ProviderCharge, error) {
	created, err := g.intentsSince(ctx, since)
	if err != nil {
		return nil, unknownOutcome("list charges", err)
	}
	refunds, err := g.listRefunds(ctx, cards.ReportQuery{From: since})
	if err != nil {
		return nil, unknownOutcome("list refunds", err)
	}
	for _, refund := range refunds {
		if refund.PaymentIntent != nil {
			created = append(created, refund.PaymentIntent)
		}
	}
	return g.ourCharges(created)
}

// Reports implements [cards.Gateway].
func (g *Gateway) Reports(ctx context.Context, q cards.ReportQuery) ([]cards.Report, error) {
	refunds, err := g.listRefunds(ctx, q)
	if err != nil {
		return nil, unknownOutcome("list refunds", err)
	}
	var reports []cards.Report
	for _, refund := range refunds {
		if !g.isOurs(refund.PaymentIntent) {
			continue
		}
		result, err := refundResult(refund)
		if err != nil {
			return nil, err
		}
		result.Payment = refund.PaymentIntent.Metadata[metaPayment] // a refund of the dashboard has none
		reports = append(reports, cards.Report{Result: result})
	}
	disputes, err := g.listDisputes(ctx, q)
	if err != nil {
		return nil, unknownOutcome("list disputes", err)
	}
	for _, dispute := range disputes {
		if !g.isOurs(dispute.PaymentIntent) {
			continue
		}
		report, err := disputeReport(dispute)
		if err != nil {
			return nil, err
		}
		reports = append(reports, cards.Report{Dispute: report})
	}
	return reports, nil
}

func (g *Gateway) intentsSince(ctx context.Context, since time.Time) ([]*api.PaymentIntent, error) {
	params := &api.PaymentIntentListParams{
		CreatedRange: &api.RangeQueryParams{GreaterThanOrEqual: since.Unix()},
		Expand:       []*string{new("data.latest_charge")}, // has the refunded amount
	}
	params.Limit = new(int64(pageSize))
	var intents []*api.PaymentIntent
	for {
		page, err := callPage(ctx, g, "list_charges", func(ctx context.Context) *api.V1List[*api.PaymentIntent] {
			return g.client.V1PaymentIntents.List(ctx, params)
		})
		intents = append(intents, page.items...)
		if err != nil || !page.more {
			return intents, err
		}
		params.StartingAfter = new(page.items[len(page.items)-1].ID)
	}
}

// listRefunds also finds refunds for old charges, and those that people make at the
// provider.
func (g *Gateway) listRefunds(ctx context.Context, q cards.ReportQuery) ([]*api.Refund, error) {
	params := &api.RefundListParams{
		PaymentIntent: orNil(q.Charge), CreatedRange: rangeOf(q),
		Expand: []*string{new("data.payment_intent.latest_charge")},
	}
	params.Limit = new(int64(pageSize))
	var refunds []*api.Refund
	for {
		page, err := callPage(ctx, g, "list_refunds", func(ctx context.Context) *api.V1List[*api.Refund] {
			return g.client.V1Refunds.List(ctx, params)
		})
		refunds = append(refunds, page.items...)
		if err != nil || !page.more {
			return refunds, err
		}
		params.StartingAfter = new(page.items[len(page.items)-1].ID)
	}
}

// rangeOf returns the period of a query, or nil.
func rangeOf(q cards.ReportQuery) *api.RangeQueryParams {
	if q.From.IsZero() {
		return nil
	}
	period := &api.RangeQueryParams{GreaterThanOrEqual: q.From.Unix()}
	if !q.To.IsZero() {
		period.LesserThanOrEqual = q.To.Unix()
	}
	return period
}

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// ourCharges converts intents with our metadata, each once.
func (g *Gateway) ourCharges(intents []*api.PaymentIntent) ([]cards.ProviderCharge, error) {
	var charges []cards.ProviderCharge
	seen := map[string]bool{}
	for _, intent := range intents {
		if seen[intent.ID] || !g.isOurs(intent) {
			continue
		}
		seen[intent.ID] = true
		charge, err := chargeOf(intent)
		if err != nil {
			return nil, fmt.Errorf("stripe: list charges: %s: %w", plain(intent.ID), err)
		}
		charges = append(charges, charge)
	}
	return charges, nil
}

func chargeOf(intent *api.PaymentIntent) (cards.ProviderCharge, error) {
	terms, err := termsOf(intent.Metadata, intent.Amount, string(intent.Currency))
	if err != nil {
		return cards.ProviderCharge{}, err
	}
	received, err := moneyOf(intent.AmountReceived, string(intent.Currency))
	if err != nil {
		return cards.ProviderCharge{}, err
	}
	refunded := core.Zero(terms.Amount.Currency())
	if intent.LatestCharge != nil {
		refunded, err = moneyOf(intent.LatestCharge.AmountRefunded, string(intent.Currency))
	}
	return cards.ProviderCharge{
		Terms: terms, ExternalID: intent.ID, Received: received, Refunded: refunded,
		Captured: intentOutcomes[intent.Status] == cards.ChargeSucceeded,
	}, err
}
