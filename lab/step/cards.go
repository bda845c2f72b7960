package step

import (
	"context"
	"errors"
	"fmt"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/test/commands"
)

// provider approves each charge and refund, as often as it is asked.
type provider struct{ cards.Gateway }

// AmountRefusal implements [cards.Gateway].
func (provider) AmountRefusal(core.Money) string { return "" }

// Charge implements [cards.Gateway].
func (provider) Charge(_ context.Context, c cards.ChargeRequest) (cards.ChargeResult, error) {
	return approved(c.Terms), nil
}

// Refund implements [cards.Gateway].
func (provider) Refund(_ context.Context, r cards.RefundRequest) (cards.ChargeResult, error) {
	return approved(r.Terms), nil
}

// Reports implements [cards.Gateway]: no event is lost.
func (provider) Reports(context.Context, cards.ReportQuery) ([]cards.Report, error) { return nil, nil }

// approved is a success. Each charge and each refund has one id, however often it is asked for.
func approved(t cards.Terms) cards.ChargeResult {
	id := "ch_" + t.Payment
	if t.Refund != "" {
		id = "re_" + t.Refund
	}
	return cards.ChargeResult{Terms: t, Outcome: cards.ChargeSucceeded, Received: t.Amount, ExternalID: id}
}

// onCharge is what the provider or a job does about the card payment of an order, if there
// is one.
func onCharge(name string, owner core.Actor, of string,
	run func(ctx context.Context, s *payment.Service, p *payment.Payment) (string, error),
) *command {
	return use(name, owner, of, func(ctx context.Context, s commands.Service, id int64, _ string) (commands.Answer, error) {
		payments, err := s.Payments.ListPayments(ctx, owner, id)
		for _, p := range payments {
			if p.Method == payment.ByCard {
				text, err := run(ctx, s.Payments, p)
				return commands.Answer{Text: text}, err
			}
		}
		return commands.Answer{Text: "no card"}, err
	})
}

// settle is a run of the job that charges a card.
func settle(owner core.Actor, of string) *command {
	return onCharge("settlePayment", owner, of, func(ctx context.Context, s *payment.Service, p *payment.Payment) (string, error) {
		return "settled", s.SettlePayment(ctx, p.ID)
	})
}

// settleRefund is a run of the job that refunds to a card.
func settleRefund(owner core.Actor, of string) *command {
	return onCharge("settleRefund", owner, of, func(ctx context.Context, s *payment.Service, p *payment.Payment) (string, error) {
		for _, refund := range p.Refunds {
			if err := s.SettleRefund(ctx, refund.ID); err != nil {
				return "", err
			}
		}
		return "settled", nil
	})
}

// providerEvent is the provider's event about a charge. A second one has the same id.
func providerEvent(owner core.Actor, of string) *command {
	return onCharge("providerEvent", owner, of, func(ctx context.Context, s *payment.Service, p *payment.Payment) (string, error) {
		outcome, mismatch, err := s.ApplyProviderEvent(ctx, payment.ProviderEvent{
			Message: core.Message{Source: "provider", ID: "event-of-" + of, SentAt: restockedAt},
			Report:  cards.Report{Result: approved(cards.Terms{Payment: p.Key(), OrderID: p.OrderID, Amount: p.Amount})},
		})
		if mismatch != nil {
			return "", errors.New(mismatch.Detail)
		}
		return string(outcome), err
	})
}

// reported is the provider's event about what it has moved by itself. A second one has the
// same id.
func reported(name string, owner core.Actor, of string, report func(charge string) cards.Report) *command {
	return onCharge(name, owner, of, func(ctx context.Context, s *payment.Service, p *payment.Payment) (string, error) {
		outcome, _, err := s.ApplyProviderEvent(ctx, payment.ProviderEvent{
			Message: core.Message{Source: "provider", ID: name + "-of-" + of, SentAt: restockedAt},
			Report:  report("ch_" + p.Key()),
		})
		return string(outcome), err
	})
}

// polled applies a report from the provider's list, as reconciliation does. It has no id.
func polled(name string, owner core.Actor, of string, report func(charge string) cards.Report) *command {
	return onCharge(name, owner, of, func(ctx context.Context, s *payment.Service, p *payment.Payment) (string, error) {
		mismatches, err := s.ApplyReports(ctx, []cards.Report{report("ch_" + p.Key())})
		return fmt.Sprintf("%d mismatches", len(mismatches)), err
	})
}

// refundThere is a refund in the provider's dashboard.
func refundThere(amount int) func(charge string) cards.Report {
	return func(charge string) cards.Report {
		terms := cards.Terms{Amount: commands.Roubles(amount)}
		return cards.Report{Result: cards.ChargeResult{Terms: terms, Outcome: cards.ChargeSucceeded, ExternalID: "re_there", Charge: charge}}
	}
}

func refundedThere(owner core.Actor, of string, amount int) *command {
	return reported("refundedThere", owner, of, refundThere(amount))
}

// dispute is a bank's dispute of a charge, with a status.
func dispute(status cards.DisputeStatus) func(charge string) cards.Report {
	return func(charge string) cards.Report {
		d := cards.Dispute{ID: "dp_1", Amount: commands.Roubles(4), Reason: "fraudulent", Status: status, CreatedAt: restockedAt}
		withdrawn := cards.DisputedFunds{ExternalID: "txn_1", Amount: d.Amount}
		return cards.Report{Dispute: &cards.DisputeReport{Dispute: d, Charge: charge, Funds: []cards.DisputedFunds{withdrawn}}}
	}
}

func disputed(owner core.Actor, status cards.DisputeStatus) *command {
	return reported("dispute "+string(status), owner, "charging", dispute(status))
}
