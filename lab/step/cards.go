package step

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/test/commands"
)

// provider is the card provider of both replicas. It makes each charge and each refund once,
// however often it is asked, and returns no more than a charge has taken.
type provider struct {
	cards.Gateway
	mu      sync.Mutex
	left    map[string]core.Money           // by charge
	refunds map[string][]cards.ChargeResult // by charge, the newest first
}

func newProvider() *provider {
	return &provider{left: map[string]core.Money{}, refunds: map[string][]cards.ChargeResult{}}
}

// AmountRefusal implements [cards.Gateway].
func (*provider) AmountRefusal(core.Money) string { return "" }

// Charge implements [cards.Gateway].
func (at *provider) Charge(_ context.Context, c cards.ChargeRequest) (cards.ChargeResult, error) {
	at.mu.Lock()
	defer at.mu.Unlock()
	id := "ch_" + c.Payment
	if _, made := at.left[id]; !made {
		at.left[id] = c.Amount
	}
	return cards.ChargeResult{Terms: c.Terms, Outcome: cards.ChargeSucceeded, Received: c.Amount, ExternalID: id}, nil
}

// Refund implements [cards.Gateway].
func (at *provider) Refund(_ context.Context, r cards.RefundRequest) (cards.ChargeResult, error) {
	return at.refund(r.ExternalID, "re_"+r.Refund, r.Terms)
}

func (at *provider) refund(charge, id string, t cards.Terms) (cards.ChargeResult, error) {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, made := range at.refunds[charge] {
		if made.ExternalID == id {
			return made, nil
		}
	}
	left, err := at.left[charge].Sub(t.Amount)
	if err != nil {
		return cards.ChargeResult{}, cards.ErrReturnedElsewhere
	}
	made := cards.ChargeResult{Terms: t, Outcome: cards.ChargeSucceeded, ExternalID: id, Charge: charge}
	at.left[charge], at.refunds[charge] = left, slices.Insert(at.refunds[charge], 0, made)
	return made, nil
}

// Reports implements [cards.Gateway].
func (at *provider) Reports(_ context.Context, q cards.ReportQuery) (reports []cards.Report, err error) {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, made := range at.refunds[q.Charge] {
		reports = append(reports, cards.Report{Result: made})
	}
	return reports, nil
}

// onCharge is what the provider or a job does about the card payment of an order, if there
// is one.
func onCharge(name string, owner core.Actor, of string,
	run func(ctx context.Context, s *service, p *payment.Payment) (string, error),
) *command {
	return &command{name: name + " of " + of, by: owner, run: func(ctx context.Context, s *service, ids names, _ *command) (string, error) {
		payments, err := s.Payments.ListPayments(ctx, owner, ids[of])
		for _, p := range payments {
			if p.Method == payment.ByCard {
				return run(ctx, s, p)
			}
		}
		return "no card", err
	}}
}

// settle is a run of the job that charges a card.
func settle(owner core.Actor, of string) *command {
	return onCharge("settlePayment", owner, of, func(ctx context.Context, s *service, p *payment.Payment) (string, error) {
		return "settled", s.Payments.SettlePayment(ctx, p.ID)
	})
}

// settleRefund is the job that refunds to a card, until each refund is decided.
func settleRefund(owner core.Actor, of string) *command {
	return onCharge("settleRefund", owner, of, func(ctx context.Context, s *service, p *payment.Payment) (string, error) {
		for _, refund := range p.Refunds {
			if err := untilDone(func() error { return s.Payments.SettleRefund(ctx, refund.ID) }); err != nil {
				return "", err
			}
		}
		return "settled", nil
	})
}

// untilDone runs a job again after an error, as River does.
func untilDone(job func() error) (err error) {
	for range 10 {
		if err = job(); err == nil {
			return nil
		}
	}
	return err
}

// providerEvent is the provider's event about a charge. A second one has the same id.
func providerEvent(owner core.Actor, of string) *command {
	return onCharge("providerEvent", owner, of, func(ctx context.Context, s *service, p *payment.Payment) (string, error) {
		made, err := s.provider.Charge(ctx, cards.ChargeRequest{Terms: cards.Terms{Payment: p.Key(), OrderID: p.OrderID, Amount: p.Amount}})
		if err != nil {
			return "", err
		}
		outcome, mismatch, err := s.Payments.ApplyProviderEvent(ctx, payment.ProviderEvent{
			Message: core.Message{Source: "provider", ID: "event-of-" + of, SentAt: restockedAt},
			Report:  cards.Report{Result: made},
		})
		if mismatch != nil {
			return "", errors.New(mismatch.Detail)
		}
		return string(outcome), err
	})
}

// action is what the provider does with a charge by itself. It returns the reports about it.
type action func(at *provider, p *payment.Payment) []cards.Report

// reported is the provider's event about an action. A second one has the same id.
func reported(name string, owner core.Actor, of string, act action) *command {
	return onCharge(name, owner, of, func(ctx context.Context, s *service, p *payment.Payment) (string, error) {
		outcome := payment.EventIgnored
		for _, report := range act(s.provider, p) {
			var err error
			outcome, _, err = s.Payments.ApplyProviderEvent(ctx, payment.ProviderEvent{
				Message: core.Message{Source: "provider", ID: name + "-of-" + of, SentAt: restockedAt}, Report: report,
			})
			if err != nil {
				return "", acted(err)
			}
		}
		return string(outcome), nil
	})
}

// polled applies the reports from the provider's list, as reconciliation does. They have no id.
func polled(name string, owner core.Actor, of string, act action) *command {
	return onCharge(name, owner, of, func(ctx context.Context, s *service, p *payment.Payment) (string, error) {
		mismatches, err := s.Payments.ApplyReports(ctx, act(s.provider, p))
		if err != nil {
			return "", acted(err)
		}
		return fmt.Sprintf("%d mismatches", len(mismatches)), nil
	})
}

// acted is an error after an action, which stays.
func acted(err error) error { return fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, err) }

// refundThere is a refund in the provider's dashboard, of a charge that the shop knows and that
// has the money.
func refundThere(amount int) action {
	return func(at *provider, p *payment.Payment) []cards.Report {
		made, err := at.refund(p.Card.ExternalID, "re_there", cards.Terms{Amount: commands.Roubles(amount)})
		if err != nil {
			return nil
		}
		return []cards.Report{{Result: made}}
	}
}

func refundedThere(owner core.Actor, of string, amount int) *command {
	return reported("refundedThere", owner, of, refundThere(amount))
}

// dispute is a bank's dispute of a charge, with a status.
func dispute(status cards.DisputeStatus) action {
	return func(_ *provider, p *payment.Payment) []cards.Report {
		d := cards.Dispute{ID: "dp_1", Amount: commands.Roubles(4), Reason: "fraudulent", Status: status, CreatedAt: restockedAt}
		withdrawn := []cards.DisputedFunds{{ExternalID: "txn_1", Amount: d.Amount}}
		return []cards.Report{{Dispute: &cards.DisputeReport{Dispute: d, Charge: "ch_" + p.Key(), Funds: withdrawn}}}
	}
}

func disputed(owner core.Actor, status cards.DisputeStatus) *command {
	return reported("dispute "+string(status), owner, "charging", dispute(status))
}
