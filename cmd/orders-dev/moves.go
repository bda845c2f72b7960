package main

import (
	"context"
	"fmt"
	"net/http"

	"example.com/orders/internal/dev/fakestripe"
)

// move moves money at the card provider past this service, and returns a sentence about it.
type move func(ctx context.Context) (string, error)

// ServeHTTP implements [http.Handler].
func (m move) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	happened, err := m(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	_, _ = fmt.Fprintln(w, happened)
}

// moves returns the moves of shops in the provider's dashboard, and of banks. They concern
// the latest card payment, and the latest dispute.
func (s *servers) moves() map[string]move {
	return map[string]move{
		"refund":       s.refundLatest,
		"dispute":      s.disputeLatest,
		"dispute-won":  s.decideDispute(fakestripe.Won),
		"dispute-lost": s.decideDispute(fakestripe.Lost),
	}
}

func (s *servers) refundLatest(ctx context.Context) (string, error) {
	charge, amount, err := s.stripe.LatestCharge(ctx)
	if err != nil {
		return "", err
	}
	id, err := s.stripe.RefundInDashboard(ctx, charge, amount, "succeeded")
	return fmt.Sprintf("the shop has refunded %s in full: %s", charge, id), err
}

func (s *servers) disputeLatest(ctx context.Context) (string, error) {
	charge, amount, err := s.stripe.LatestCharge(ctx)
	if err != nil {
		return "", err
	}
	id, err := s.stripe.OpenDispute(ctx, charge, amount, fakestripe.NeedsResponse)
	return fmt.Sprintf("a bank disputes %s: %s", charge, id), err
}

func (s *servers) decideDispute(status string) move {
	return func(ctx context.Context) (string, error) {
		id, err := s.stripe.LatestDispute(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("the shop has %s %s", status, id), s.stripe.StepDispute(ctx, id, status)
	}
}

// holdProviderEvents lets the webhooks of the card provider wait.
func (s *servers) holdProviderEvents(context.Context) error {
	s.stripe.SendTo("")
	return nil
}

// loseProviderEvents loses the webhooks that wait, and sends the next.
func (s *servers) loseProviderEvents(ctx context.Context) error {
	err := s.stripe.ArrangeWebhooks(ctx, func([]fakestripe.Webhook) []fakestripe.Webhook { return nil })
	s.stripe.SendTo(s.webhookURL())
	return err
}
