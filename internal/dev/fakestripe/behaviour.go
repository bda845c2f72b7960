package fakestripe

import (
	"context"
	"maps"
	"net/http"
	"slices"
)

// behaviour is what a payment method makes the double do. The zero behaviour captures at once.
type behaviour struct {
	declines    string // why the card is declined
	hangs       bool   // the first tries are never answered, and nothing happens
	failsBefore bool   // the first tries are answered 500, and nothing happens
	drops       bool   // the money moves, and the connection ends without an answer
	failsAfter  bool   // the money moves, and the answer is 500
	late        bool   // the answer is "processing"; it is decided later
	waits       bool   // the bank wants to see the customer
	twice       bool   // each webhook is sent twice, the last first
	refund      *behaviour
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
	"pm_twice":         {twice: true},
	"pm_action":        {waits: true},

	"pm_refund_fail": {refund: &behaviour{declines: "expired_or_canceled_card"}},
	"pm_refund_drop": {refund: &behaviour{drops: true}},
	"pm_refund_500":  {refund: &behaviour{failsAfter: true}},
	"pm_refund_late": {refund: &behaviour{late: true}},
}

// Tokens lists the payment methods that the double knows. Their names say what they do:
//
//   - pm_card_visa captures;
//   - pm_card_declined and pm_insufficient are declined, pm_late_declined after a while;
//   - pm_hang is not answered, and pm_500_before answered 500, for the first Config.Failures tries, which charge nothing;
//   - pm_drop charges and drops the connection, pm_500 charges and answers 500;
//   - pm_late answers "processing" and captures after Config.Late;
//   - pm_twice captures, and sends each webhook twice, the last event first;
//   - pm_action waits for the customer and charges nothing; Stripe would decline it when told that nobody is there, so it
//     stands for what should not happen;
//   - pm_refund_fail, pm_refund_drop, pm_refund_500 and pm_refund_late capture; refunds of them fail, or behave as the
//     charges above do.
func Tokens() []string { return slices.Sorted(maps.Keys(behaviours)) }

// ofRefund is what a refund of the payment does.
func (b behaviour) ofRefund() behaviour {
	if b.refund == nil {
		return behaviour{twice: b.twice}
	}
	return *b.refund
}

// stumble fails the first tries of a key, if the payment method wants that. It ends before anything has happened.
func (s *Server) stumble(ctx context.Context, key string, b behaviour) error {
	if !b.hangs && !b.failsBefore {
		return nil
	}
	var tries int
	err := s.pool.QueryRow(ctx, `
		INSERT INTO psp_double.try (key, count) VALUES ($1, 1)
		ON CONFLICT (key) DO UPDATE SET count = try.count + 1
		RETURNING count`, key).Scan(&tries)
	if err != nil || tries > s.cfg.Failures {
		return err
	}
	if b.hangs {
		<-ctx.Done() // until the caller hangs up
		return ctx.Err()
	}
	return &failure{status: http.StatusInternalServerError, Type: "api_error", Message: "An unknown error occurred"}
}
