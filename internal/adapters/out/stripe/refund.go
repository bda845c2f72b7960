package stripe

import (
	"cmp"
	"context"
	"errors"
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
	if r.MadeID != "" {
		return g.lookUpRefund(ctx, r.MadeID)
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
	if err := g.checkIdentity(ctx, r); err != nil {
		return cards.ChargeResult{}, err
	}
	return g.createRefund(ctx, r, amount)
}

// checkIdentity returns an error unless Stripe knows the charge as that of the payment: a
// refund of a foreign charge could not be taken back.
func (g *Gateway) checkIdentity(ctx context.Context, r cards.RefundRequest) error {
	intent, err := call(ctx, g, "look_up_charge", func(ctx context.Context) (*api.PaymentIntent, error) {
		return g.client.V1PaymentIntents.Retrieve(ctx, r.ExternalID, nil)
	})
	switch {
	case err != nil:
		return unknownOutcome("look up the charge", err)
	case intent.ID != r.ExternalID || !g.isOurs(intent) || intent.Metadata[metaPayment] != r.Payment:
		return fmt.Errorf("stripe: refund: %s is not the charge of payment %d", plain(r.ExternalID), r.PaymentID)
	}
	return nil
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

// lookUpRefund returns the result of a refund that this service has not made.
func (g *Gateway) lookUpRefund(ctx context.Context, id string) (cards.ChargeResult, error) {
	refund, err := call(ctx, g, "look_up_refund", func(ctx context.Context) (*api.Refund, error) {
		return g.client.V1Refunds.Retrieve(ctx, id, nil)
	})
	if err != nil {
		return cards.ChargeResult{}, unknownOutcome("look up the refund", err)
	}
	return refundResult(refund)
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
	case isReturned(err):
		return cards.ChargeResult{}, fmt.Errorf("%w: %w", cards.ErrReturnedElsewhere, unknownOutcome("refund", err))
	case classify(err).refused:
		return refusedAs(r.Terms, refusalCode(err)), nil
	default:
		return cards.ChargeResult{}, unknownOutcome("refund", err)
	}
}

// isReturned reports whether Stripe refuses a refund because the charge has less left. For
// a charge that was refunded in part, it names only the parameter.
func isReturned(err error) bool {
	failure, ok := errors.AsType[*api.Error](err)
	return ok && (failure.Code == api.ErrorCodeChargeAlreadyRefunded || failure.Code == "" && failure.Param == "amount")
}

func refundResult(refund *api.Refund) (cards.ChargeResult, error) {
	outcome := refundOutcomes[refund.Status]
	terms, err := termsOf(refund.Metadata, refund.Amount, string(refund.Currency))
	if err != nil {
		return cards.ChargeResult{}, fmt.Errorf("stripe: %s: %w", plain(refund.ID), err)
	}
	result := cards.ChargeResult{Terms: terms, Outcome: outcome, ExternalID: refund.ID, Note: string(refund.Reason)}
	if refund.PaymentIntent != nil {
		result.Charge = refund.PaymentIntent.ID
	}
	if outcome == cards.ChargeRefused {
		result.Reason = cmp.Or(string(refund.FailureReason), string(refund.Status))
	}
	return result, nil
}
