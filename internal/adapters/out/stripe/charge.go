package stripe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment/cards"
)

// Charge captures money from a card, once per key. An error means that the outcome is
// unknown.
func (g *Gateway) Charge(ctx context.Context, c cards.ChargeRequest) (cards.ChargeResult, error) {
	amount, expressible := minorUnits(c.Amount)
	if !expressible {
		return refusedAs(c.Terms, unsupportedAmount), nil
	}
	if c.Retry {
		intent, err := g.findIntent(ctx, c)
		if err != nil {
			return cards.ChargeResult{}, err
		}
		if intent != nil {
			return g.intentResult(ctx, c.Payment, intent)
		}
	}
	return g.createIntent(ctx, c, amount)
}

// findIntent returns the intent of a payment, or nil if the Stripe search finds no match.
func (g *Gateway) findIntent(ctx context.Context, c cards.ChargeRequest) (*api.PaymentIntent, error) {
	query := fmt.Sprintf("metadata['%s']:'%s'", metaPayment, c.Payment)
	params := &api.PaymentIntentSearchParams{SearchParams: api.SearchParams{Query: query}}
	found, err := call(ctx, g, "search_charge", func(ctx context.Context) ([]*api.PaymentIntent, error) {
		list := g.client.V1PaymentIntents.Search(ctx, params)
		return list.Data(), list.Err()
	})
	switch {
	case err != nil:
		return nil, unknownOutcome("search the charge", err)
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		return nil, fmt.Errorf("stripe: search the charge: %d intents have the key of payment %d", len(found), c.PaymentID)
	default:
		return found[0], nil
	}
}

// createIntent creates and confirms an intent in one call.
func (g *Gateway) createIntent(ctx context.Context, c cards.ChargeRequest, amount int64) (cards.ChargeResult, error) {
	params := intentParams(c, amount)
	intent, err := call(ctx, g, "charge", func(ctx context.Context) (*api.PaymentIntent, error) {
		return g.client.V1PaymentIntents.Create(ctx, params)
	})
	if err == nil {
		return g.intentResult(ctx, c.Payment, intent)
	}
	if !classify(err).refused {
		return cards.ChargeResult{}, unknownOutcome("charge", err)
	}
	result := refusedAs(c.Terms, failureOfError(err))
	if intent := intentOf(err); intent != nil {
		result.ExternalID = intent.ID
		if mayStillCapture(intent) {
			return g.cancelIntent(ctx, c.Payment, intent, result.Reason)
		}
	}
	return result, nil
}

func intentParams(c cards.ChargeRequest, amount int64) *api.PaymentIntentCreateParams {
	params := &api.PaymentIntentCreateParams{
		Amount:        new(amount),
		Currency:      new(strings.ToLower(string(c.Amount.Currency()))),
		PaymentMethod: new(c.Token),
		// Cards only. The account's settings could add methods that take days or
		// redirect the customer.
		PaymentMethodTypes: []*string{new("card")},
		CaptureMethod:      new(string(api.PaymentIntentCaptureMethodAutomatic)),
		Confirm:            new(true),
		// The customer is not present, so a card that needs authentication is declined.
		ErrorOnRequiresAction: new(true),
		Metadata: map[string]string{
			metaPayment:   c.Payment,
			metaPaymentID: formatID(c.PaymentID),
			metaOrder:     formatID(c.OrderID),
		},
	}
	params.SetIdempotencyKey(c.Payment)
	return params
}

// intentResult returns an intent's result. It first cancels an intent that may still
// capture money.
func (g *Gateway) intentResult(ctx context.Context, key string, intent *api.PaymentIntent) (cards.ChargeResult, error) {
	if mayStillCapture(intent) {
		return g.cancelIntent(ctx, key, intent, failureOf(string(intent.Status), string(api.PaymentIntentStatusCanceled)))
	}
	outcome, known := intentOutcomes[intent.Status]
	if intent.Livemode != g.live {
		return cards.ChargeResult{}, fmt.Errorf("stripe: %s is in another mode than the API key", plain(intent.ID))
	}
	if !known {
		return cards.ChargeResult{}, fmt.Errorf("stripe: %s has the unknown status %s", plain(intent.ID), plain(string(intent.Status)))
	}
	reason := ""
	if outcome == cards.ChargeRefused {
		reason = refusalReason(intent)
	}
	return resultOf(intent, outcome, reason)
}

func resultOf(intent *api.PaymentIntent, outcome cards.ChargeOutcome, reason string) (cards.ChargeResult, error) {
	terms, err := termsOf(intent.Metadata, intent.Amount, string(intent.Currency))
	if err != nil {
		return cards.ChargeResult{}, fmt.Errorf("stripe: %s: %w", plain(intent.ID), err)
	}
	result := cards.ChargeResult{Terms: terms, Outcome: outcome, ExternalID: intent.ID, Reason: reason}
	if outcome == cards.ChargeSucceeded {
		result.Received, err = moneyOf(intent.AmountReceived, string(intent.Currency))
	}
	return result, err
}

// cancelIntent cancels an abandoned intent, so that it can never capture money. If it
// has captured meanwhile, Stripe refuses; then the outcome is unknown, and the next
// call finds the capture.
func (g *Gateway) cancelIntent(
	ctx context.Context, key string, intent *api.PaymentIntent, reason string,
) (cards.ChargeResult, error) {
	params := &api.PaymentIntentCancelParams{
		CancellationReason: new(string(api.PaymentIntentCancellationReasonAbandoned)),
	}
	params.SetIdempotencyKey(key + "-cancel")
	cancelled, err := call(ctx, g, "cancel_charge", func(ctx context.Context) (*api.PaymentIntent, error) {
		return g.client.V1PaymentIntents.Cancel(ctx, intent.ID, params)
	})
	if err != nil {
		return cards.ChargeResult{}, unknownOutcome("cancel "+plain(intent.ID), err)
	}
	if cancelled.Status != api.PaymentIntentStatusCanceled {
		return cards.ChargeResult{}, fmt.Errorf("stripe: %s was cancelled and has the status %s", plain(intent.ID), plain(string(cancelled.Status)))
	}
	return resultOf(intent, cards.ChargeRefused, reason)
}

func refusalReason(intent *api.PaymentIntent) string {
	if intent.LastPaymentError != nil {
		return failureOfError(intent.LastPaymentError)
	}
	return failureOf(string(intent.CancellationReason), string(intent.Status))
}

// intentOf returns the intent in a Stripe error, or nil.
func intentOf(err error) *api.PaymentIntent {
	if failure, ok := errors.AsType[*api.Error](err); ok {
		return failure.PaymentIntent
	}
	return nil
}
