package stripe

import (
	"context"
	"fmt"
	"time"

	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// Charges returns our charges created at since or later, newest first. It skips other
// charges in the same account.
func (g *Gateway) Charges(ctx context.Context, since time.Time) ([]payment.ProviderCharge, error) {
	params := &api.PaymentIntentListParams{
		CreatedRange: &api.RangeQueryParams{GreaterThanOrEqual: since.Unix()},
		Expand:       []*string{new("data.latest_charge")}, // has the refunded amount
	}
	params.Limit = new(int64(pageSize))
	var charges []payment.ProviderCharge
	for {
		page, err := callPage(ctx, g, "list_charges", func(ctx context.Context) *api.V1List[*api.PaymentIntent] {
			return g.client.V1PaymentIntents.List(ctx, params)
		})
		if err != nil {
			return nil, unknownOutcome("list charges", err)
		}
		if charges, err = appendOurs(charges, page.items); err != nil {
			return nil, err
		}
		if !page.more {
			return charges, nil
		}
		params.StartingAfter = new(page.items[len(page.items)-1].ID)
	}
}

func appendOurs(charges []payment.ProviderCharge, intents []*api.PaymentIntent) ([]payment.ProviderCharge, error) {
	for _, intent := range intents {
		if !isOurs(intent.Metadata) {
			continue
		}
		charge, err := chargeOf(intent)
		if err != nil {
			return nil, fmt.Errorf("stripe: list charges: %s: %w", plain(intent.ID), err)
		}
		charges = append(charges, charge)
	}
	return charges, nil
}

func chargeOf(intent *api.PaymentIntent) (payment.ProviderCharge, error) {
	outcome, known := intentOutcomes[intent.Status]
	if !known {
		return payment.ProviderCharge{}, fmt.Errorf("unknown status %s", plain(string(intent.Status)))
	}
	terms, err := termsOf(intent.Metadata, intent.Amount, string(intent.Currency))
	if err != nil {
		return payment.ProviderCharge{}, err
	}
	received, err := moneyOf(intent.AmountReceived, string(intent.Currency))
	if err != nil {
		return payment.ProviderCharge{}, err
	}
	refunded := core.Zero(terms.Amount.Currency())
	if intent.LatestCharge != nil {
		refunded, err = moneyOf(intent.LatestCharge.AmountRefunded, string(intent.Currency))
	}
	return payment.ProviderCharge{
		Terms: terms, ExternalID: intent.ID, Received: received, Refunded: refunded,
		Captured: outcome == payment.ChargeSucceeded,
	}, err
}
