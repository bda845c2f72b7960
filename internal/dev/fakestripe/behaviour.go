package fakestripe

import (
	"context"
	"maps"
	"slices"
)

// behaviour is the effect of a payment method on the server. The zero behaviour captures at
// once.
type behaviour struct {
	declines       string // the decline code; the card is declined
	hangs          bool   // the first attempt gets no response and has no effect
	failsBefore    bool   // the first attempt gets a 500 and has no effect
	drops          bool   // the money moves, and the connection ends before a response
	failsAfter     bool   // the money moves, and the response is a 500
	late           bool   // the response is "processing"; the outcome is decided later
	requiresAction bool   // the bank wants to authenticate the customer
	duplicates     bool   // each webhook is sent twice, the last one first
	refund         *behaviour
}

var behaviours = map[string]behaviour{
	"pm_card_visa":     {},
	"pm_card_declined": {declines: "generic_decline"},
	"pm_insufficient":  {declines: "insufficient_funds"},
	"pm_hang":          {hangs: true},
	"pm_500_before":    {failsBefore: true},
	"pm_drop":          {drops: true},
	"pm_500":           {failsAfter: true},
	"pm_late":          {late: true},
	"pm_late_declined": {late: true, declines: "generic_decline"},
	"pm_twice":         {duplicates: true},
	"pm_action":        {requiresAction: true},

	"pm_refund_fail": {refund: &behaviour{declines: "expired_or_canceled_card"}},
	"pm_refund_drop": {refund: &behaviour{drops: true}},
	"pm_refund_500":  {refund: &behaviour{failsAfter: true}},
	"pm_refund_late": {refund: &behaviour{late: true}},
}

// Tokens returns the payment methods that the server knows:
//
//   - pm_card_visa captures.
//   - pm_card_declined and pm_insufficient are declined, pm_late_declined after a
//     while.
//   - pm_hang gets no response to the first attempt, and pm_500_before a 500. Those
//     charge no money.
//   - pm_drop charges and drops the connection; pm_500 charges and responds with a 500.
//   - pm_late responds with "processing" and captures after Config.Late.
//   - pm_twice captures and sends each webhook twice, the last event first.
//   - pm_action requires the customer's authentication and charges no money. Stripe
//     declines such a card when the caller says that the customer is absent, so this is
//     what should not happen.
//   - pm_refund_fail, pm_refund_drop, pm_refund_500 and pm_refund_late capture. Their
//     refunds fail, or behave as the charges above.
func Tokens() []string { return slices.Sorted(maps.Keys(behaviours)) }

// ofRefund returns the behaviour for a refund.
func (b behaviour) ofRefund() behaviour {
	if b.refund == nil {
		return behaviour{duplicates: b.duplicates}
	}
	return *b.refund
}

// failFirst fails the first attempt with a key, if the payment method asks for it,
// before anything changes.
func (s *Server) failFirst(ctx context.Context, key string, b behaviour) error {
	if !b.hangs && !b.failsBefore {
		return nil
	}
	var attempts int
	err := s.pool.QueryRow(ctx, `
		INSERT INTO fakestripe.attempt (key, count) VALUES ($1, 1)
		ON CONFLICT (key) DO UPDATE SET count = attempt.count + 1
		RETURNING count`, key).Scan(&attempts)
	if err != nil || attempts > 1 {
		return err
	}
	if b.hangs {
		<-ctx.Done() // until the caller gives up
		return ctx.Err()
	}
	return internalError()
}

// ForgetKey forgets one idempotency key.
func (s *Server) ForgetKey(ctx context.Context, key string) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM fakestripe.response WHERE key = $1`, key)
	return err
}

// ForgetKeys forgets all idempotency keys, as Stripe does some time after 24 hours.
func (s *Server) ForgetKeys(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM fakestripe.response`)
	return err
}
