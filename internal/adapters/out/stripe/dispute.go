package stripe

import (
	"context"
	"fmt"
	"time"

	api "github.com/stripe/stripe-go/v85"

	"example.com/orders/internal/core/payment/cards"
)

// listDisputes also finds disputes of old charges.
func (g *Gateway) listDisputes(ctx context.Context, q cards.ReportQuery) ([]*api.Dispute, error) {
	params := &api.DisputeListParams{
		PaymentIntent: orNil(q.Charge), CreatedRange: rangeOf(q), Expand: []*string{new("data.payment_intent")},
	}
	params.Limit = new(int64(pageSize))
	var disputes []*api.Dispute
	for {
		page, err := callPage(ctx, g, "list_disputes", func(ctx context.Context) *api.V1List[*api.Dispute] {
			return g.client.V1Disputes.List(ctx, params)
		})
		disputes = append(disputes, page.items...)
		if err != nil || !page.more {
			return disputes, err
		}
		params.StartingAfter = new(page.items[len(page.items)-1].ID)
	}
}

// disputeReport converts a dispute. Our payment key is known where the intent is expanded.
func disputeReport(d *api.Dispute) (*cards.DisputeReport, error) {
	report := &cards.DisputeReport{Dispute: cards.Dispute{
		ID: d.ID, Reason: cards.ShortCode(string(d.Reason)), Status: statusOf(d),
		CreatedAt: time.Unix(d.Created, 0).UTC(),
	}}
	if d.PaymentIntent != nil {
		report.Charge, report.Payment = d.PaymentIntent.ID, d.PaymentIntent.Metadata[metaPayment]
	}
	if d.EvidenceDetails != nil && d.EvidenceDetails.DueBy > 0 {
		report.DueBy = time.Unix(d.EvidenceDetails.DueBy, 0).UTC()
	}
	var err error
	if report.Amount, err = moneyOf(d.Amount, string(d.Currency)); err != nil {
		return nil, fmt.Errorf("stripe: %s: %w", plain(d.ID), err)
	}
	for _, transaction := range d.BalanceTransactions {
		moved, err := fundsOf(transaction)
		if err != nil {
			return nil, fmt.Errorf("stripe: %s: %w", plain(d.ID), err)
		}
		report.Funds = append(report.Funds, moved...)
	}
	return report, nil
}

// statusOf returns the status of a dispute. Stripe prevents one by proving to the bank that
// the customer ordered, or by returning the money, which the shop loses then.
func statusOf(d *api.Dispute) cards.DisputeStatus {
	method := d.PaymentMethodDetails
	if d.Status == api.DisputeStatusPrevented && method != nil && method.Card != nil &&
		method.Card.CaseType == api.DisputePaymentMethodDetailsCardCaseTypeResolution {
		return cards.DisputeLost
	}
	return cards.DisputeStatus(d.Status)
}

// fundsOf converts a balance transaction, in the currency of the account. A withdrawal is a
// negative amount, and a fee a positive one.
func fundsOf(transaction *api.BalanceTransaction) (moved []cards.DisputedFunds, err error) {
	for _, part := range []struct {
		received int64
		fee      bool
	}{{transaction.Amount, false}, {-transaction.Fee, true}} {
		if part.received == 0 {
			continue
		}
		amount, err := moneyOf(max(part.received, -part.received), string(transaction.Currency))
		if err != nil {
			return nil, err
		}
		moved = append(moved, cards.DisputedFunds{
			ExternalID: transaction.ID, Amount: amount, Fee: part.fee, Returned: part.received > 0,
		})
	}
	return moved, nil
}
