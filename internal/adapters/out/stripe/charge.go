package stripe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment"
)

// unsupportedAmount is the reason to refuse money that Stripe cannot express.
const unsupportedAmount = "unsupported_amount"

// Charge captures money from a card, once for each key.
func (g *Gateway) Charge(ctx context.Context, c payment.ChargeRequest) (payment.ChargeResult, error) {
	amount, expressible := minorUnits(c.Amount)
	if !expressible {
		return payment.ChargeResult{Outcome: payment.ChargeRefused, Reason: unsupportedAmount}, nil
	}
	if c.Again {
		intent, err := g.findIntent(ctx, c, amount)
		if err != nil {
			return payment.ChargeResult{}, err
		}
		if intent != nil {
			return g.settle(ctx, c.Key, intent)
		}
	}
	return g.capture(ctx, c, amount)
}

// capture makes an intent and confirms it, in one call.
func (g *Gateway) capture(ctx context.Context, c payment.ChargeRequest, amount int64) (payment.ChargeResult, error) {
	params := intentParams(c, amount)
	intent, err := ask(ctx, g, func(ctx context.Context) (*api.PaymentIntent, error) {
		return g.client.V1PaymentIntents.Create(ctx, params)
	})
	if err == nil {
		return g.settle(ctx, c.Key, intent)
	}
	if !judge(err).refused {
		return payment.ChargeResult{}, unknown("charge", err)
	}
	result := refusal(err)
	if intent := intentOf(err); intent != nil {
		result.ExternalID = intent.ID
		if waits(intent) {
			return g.abandon(ctx, c.Key, intent, result.Reason)
		}
	}
	return result, nil
}

func intentParams(c payment.ChargeRequest, amount int64) *api.PaymentIntentCreateParams {
	params := &api.PaymentIntentCreateParams{
		Amount:        new(amount),
		Currency:      new(strings.ToLower(string(c.Amount.Currency()))),
		PaymentMethod: new(c.Token),
		// Cards only: the methods that the account's settings would add may take days, or redirect the customer.
		PaymentMethodTypes: []*string{new("card")},
		CaptureMethod:      new(string(api.PaymentIntentCaptureMethodAutomatic)),
		Confirm:            new(true),
		// A bank that wants to see the customer declines, because the customer is not there.
		ErrorOnRequiresAction: new(true),
		Metadata: map[string]string{
			metaPayment: strconv.FormatInt(c.PaymentID, 10),
			metaOrder:   strconv.FormatInt(c.OrderID, 10),
		},
	}
	params.SetIdempotencyKey(c.Key)
	return params
}

// findIntent gives the intent of a payment, or nil when Stripe shows none.
func (g *Gateway) findIntent(ctx context.Context, c payment.ChargeRequest, amount int64) (*api.PaymentIntent, error) {
	query := fmt.Sprintf("metadata['%s']:'%d'", metaPayment, c.PaymentID)
	found, err := ask(ctx, g, func(ctx context.Context) ([]*api.PaymentIntent, error) {
		list := g.client.V1PaymentIntents.Search(ctx, &api.PaymentIntentSearchParams{SearchParams: api.SearchParams{Query: query}})
		return list.Data(), list.Err()
	})
	switch {
	case err != nil:
		return nil, unknown("search the charge", err)
	case len(found) == 0:
		return nil, nil
	case len(found) > 1 || !charges(found[0], c, amount):
		// Another database under the same account, or worse. Whatever was done now could be wrong.
		return nil, fmt.Errorf("stripe: search the charge: what has the id of payment %d is not that payment: %s", c.PaymentID, found[0].ID)
	default:
		return found[0], nil
	}
}

// charges tells whether an intent is for this very charge.
func charges(intent *api.PaymentIntent, c payment.ChargeRequest, amount int64) bool {
	return intent.Amount == amount && strings.EqualFold(string(intent.Currency), string(c.Amount.Currency())) &&
		intent.Metadata[metaOrder] == strconv.FormatInt(c.OrderID, 10)
}

// settle makes a result of an intent. What waits for somebody is cancelled first.
func (g *Gateway) settle(ctx context.Context, key string, intent *api.PaymentIntent) (payment.ChargeResult, error) {
	if waits(intent) {
		return g.abandon(ctx, key, intent, string(intent.Status))
	}
	outcome, known := intentOutcomes[intent.Status]
	if !known {
		return payment.ChargeResult{}, fmt.Errorf("stripe: %s has the unknown status %q", intent.ID, intent.Status)
	}
	result := payment.ChargeResult{Outcome: outcome, ExternalID: intent.ID}
	if outcome == payment.ChargeRefused {
		result.Reason = refusedBecause(intent)
	}
	return result, nil
}

// abandon cancels an intent that nobody will complete, so that it can never capture. Stripe refuses if it has captured
// meanwhile; then nobody knows until it is asked for again.
func (g *Gateway) abandon(ctx context.Context, key string, intent *api.PaymentIntent, reason string) (payment.ChargeResult, error) {
	params := &api.PaymentIntentCancelParams{CancellationReason: new(string(api.PaymentIntentCancellationReasonAbandoned))}
	params.SetIdempotencyKey(key + "-cancel")
	cancelled, err := ask(ctx, g, func(ctx context.Context) (*api.PaymentIntent, error) {
		return g.client.V1PaymentIntents.Cancel(ctx, intent.ID, params)
	})
	if err != nil {
		return payment.ChargeResult{}, unknown("cancel "+intent.ID, err)
	}
	if cancelled.Status != api.PaymentIntentStatusCanceled {
		return payment.ChargeResult{}, fmt.Errorf("stripe: %s was cancelled and is %q", intent.ID, cancelled.Status)
	}
	return payment.ChargeResult{Outcome: payment.ChargeRefused, ExternalID: intent.ID, Reason: reason}, nil
}

func refusedBecause(intent *api.PaymentIntent) string {
	if intent.LastPaymentError != nil {
		return failureCode(intent.LastPaymentError)
	}
	return cmp.Or(string(intent.CancellationReason), string(intent.Status))
}

// intentOf gives the intent that a refusal tells of, if any.
func intentOf(err error) *api.PaymentIntent {
	if failure, ok := errors.AsType[*api.Error](err); ok {
		return failure.PaymentIntent
	}
	return nil
}
