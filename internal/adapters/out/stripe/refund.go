package stripe

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment"
)

// Refund gives money of a charge back, once for each key.
//
// A refund that succeeded can still fail days later, when the customer's bank sends it back. Stripe tells so by a
// webhook.
func (g *Gateway) Refund(ctx context.Context, r payment.RefundRequest) (payment.ChargeResult, error) {
	amount, expressible := minorUnits(r.Amount)
	if !expressible {
		return payment.ChargeResult{Outcome: payment.ChargeRefused, Reason: unsupportedAmount}, nil
	}
	if r.Again {
		refund, err := g.findRefund(ctx, r, amount)
		if err != nil {
			return payment.ChargeResult{}, err
		}
		if refund != nil {
			return refundResult(refund)
		}
	}
	return g.giveBack(ctx, r, amount)
}

func (g *Gateway) giveBack(ctx context.Context, r payment.RefundRequest, amount int64) (payment.ChargeResult, error) {
	params := &api.RefundCreateParams{
		PaymentIntent: new(r.ExternalID),
		Amount:        new(amount),
		Metadata: map[string]string{
			metaRefund:  strconv.FormatInt(r.RefundID, 10),
			metaPayment: strconv.FormatInt(r.PaymentID, 10),
		},
	}
	params.SetIdempotencyKey(r.Key)
	refund, err := ask(ctx, g, func(ctx context.Context) (*api.Refund, error) {
		return g.client.V1Refunds.Create(ctx, params)
	})
	switch {
	case err == nil:
		return refundResult(refund)
	case judge(err).refused:
		return refusal(err), nil
	default:
		return payment.ChargeResult{}, unknown("refund", err)
	}
}

// findRefund gives the refund by our id, or nil when there is none. The list, unlike the search for charges, is never
// behind.
func (g *Gateway) findRefund(ctx context.Context, r payment.RefundRequest, amount int64) (*api.Refund, error) {
	params := &api.RefundListParams{PaymentIntent: new(r.ExternalID)}
	params.Limit = new(int64(pageSize))
	for {
		page, err := askPage(ctx, g, func(ctx context.Context) *api.V1List[*api.Refund] {
			return g.client.V1Refunds.List(ctx, params)
		})
		if err != nil {
			return nil, unknown("list refunds", err)
		}
		for _, refund := range page.items {
			if refund.Metadata[metaRefund] != strconv.FormatInt(r.RefundID, 10) {
				continue
			}
			if refund.Amount != amount {
				return nil, fmt.Errorf("stripe: list refunds: what has the id of refund %d is not that refund: %s", r.RefundID, refund.ID)
			}
			return refund, nil
		}
		if !page.more {
			return nil, nil
		}
		params.StartingAfter = new(page.items[len(page.items)-1].ID)
	}
}

func refundResult(refund *api.Refund) (payment.ChargeResult, error) {
	outcome, known := refundOutcomes[refund.Status]
	if !known {
		return payment.ChargeResult{}, fmt.Errorf("stripe: %s has the unknown status %q", refund.ID, refund.Status)
	}
	result := payment.ChargeResult{Outcome: outcome, ExternalID: refund.ID}
	if outcome == payment.ChargeRefused {
		result.Reason = cmp.Or(string(refund.FailureReason), string(refund.Status))
	}
	return result, nil
}
