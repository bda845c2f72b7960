package stripe

import (
	"cmp"
	"context"
	"fmt"

	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment/cards"
)

// Refund returns a charge's money to the card, once per key. An error means that the
// outcome is unknown.
//
// A successful refund can still fail days later, when the customer's bank returns the
// money. Stripe then sends a webhook.
func (g *Gateway) Refund(ctx context.Context, r cards.RefundRequest) (cards.ChargeResult, error) {
	amount, expressible := minorUnits(r.Amount)
	if !expressible {
		return refusedAs(r.Terms, unsupportedAmount), nil
	}
	if r.Retry {
		refund, err := g.findRefund(ctx, r)
		if err != nil {
			return cards.ChargeResult{}, err
		}
		if refund != nil {
			return refundResult(refund)
		}
	}
	return g.createRefund(ctx, r, amount)
}

// findRefund returns the refund with our key, or nil. Unlike the charge search, the
// refund list is always up to date.
func (g *Gateway) findRefund(ctx context.Context, r cards.RefundRequest) (*api.Refund, error) {
	params := &api.RefundListParams{PaymentIntent: new(r.ExternalID)}
	params.Limit = new(int64(pageSize))
	for {
		page, err := callPage(ctx, g, "list_refunds", func(ctx context.Context) *api.V1List[*api.Refund] {
			return g.client.V1Refunds.List(ctx, params)
		})
		if err != nil {
			return nil, unknownOutcome("list refunds", err)
		}
		for _, refund := range page.items {
			if refund.Metadata[metaRefund] == r.Refund {
				return refund, nil
			}
		}
		if !page.more {
			return nil, nil
		}
		params.StartingAfter = new(page.items[len(page.items)-1].ID)
	}
}

func (g *Gateway) createRefund(ctx context.Context, r cards.RefundRequest, amount int64) (cards.ChargeResult, error) {
	params := &api.RefundCreateParams{
		PaymentIntent: new(r.ExternalID),
		Amount:        new(amount),
		Metadata: map[string]string{
			metaRefund:    r.Refund,
			metaRefundID:  formatID(r.RefundID),
			metaPayment:   r.Payment,
			metaPaymentID: formatID(r.PaymentID),
			metaOrder:     formatID(r.OrderID),
		},
	}
	params.SetIdempotencyKey(r.Refund)
	refund, err := call(ctx, g, "refund", func(ctx context.Context) (*api.Refund, error) {
		return g.client.V1Refunds.Create(ctx, params)
	})
	switch {
	case err == nil:
		return refundResult(refund)
	case classify(err).refused:
		return refusedAs(r.Terms, refusalCode(err)), nil
	default:
		return cards.ChargeResult{}, unknownOutcome("refund", err)
	}
}

func refundResult(refund *api.Refund) (cards.ChargeResult, error) {
	outcome, known := refundOutcomes[refund.Status]
	if !known {
		return cards.ChargeResult{}, fmt.Errorf("stripe: %s has the unknown status %s", plain(refund.ID), plain(string(refund.Status)))
	}
	terms, err := termsOf(refund.Metadata, refund.Amount, string(refund.Currency))
	if err != nil {
		return cards.ChargeResult{}, fmt.Errorf("stripe: %s: %w", plain(refund.ID), err)
	}
	result := cards.ChargeResult{Terms: terms, Outcome: outcome, ExternalID: refund.ID}
	if outcome == cards.ChargeRefused {
		result.Reason = cmp.Or(string(refund.FailureReason), string(refund.Status))
	}
	return result, nil
}
