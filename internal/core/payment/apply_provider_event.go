package payment

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment/cards"
)

// ProviderEvent is a report that a card provider sends unasked. It is empty if the event
// does not concern this service.
type ProviderEvent struct {
	Message core.Message
	// Foreign reports that the event is of another account or mode at the provider.
	Foreign bool
	cards.Report
}

// ErrUnreadableEvent means that the provider sent an event that cannot be parsed, now
// or on redelivery.
var ErrUnreadableEvent = errors.New("unreadable provider event")

// EventOutcome is the result of handling a provider event.
type EventOutcome string

// The outcomes.
const (
	EventApplied EventOutcome = "applied"
	// EventDuplicate: the event was already applied.
	EventDuplicate EventOutcome = "duplicate"
	// EventIgnored: the event concerns no payment or refund in this database.
	EventIgnored EventOutcome = "ignored"
	// EventForeign: the event is of another account or mode at the provider.
	EventForeign EventOutcome = "foreign"
	// EventRejected: the event differs from the payment or refund, or is forgotten.
	EventRejected EventOutcome = "rejected"
)

// ApplyProviderEvent applies a provider event, once per event id. Events and responses
// to our requests may arrive in any order. Events about payments unknown to this
// database are ignored.
//
// An event that differs from the payment or refund is not applied, nor is one that the
// inbox may have forgotten; the mismatch is returned. If the payment or refund is still undecided, a job asks the provider.
func (s *Service) ApplyProviderEvent(ctx context.Context, event ProviderEvent) (EventOutcome, *Mismatch, error) {
	switch {
	case event.Foreign:
		return EventForeign, nil, nil
	case event.IsEmpty():
		return EventIgnored, nil, nil
	}
	if !cards.IsPlainID(event.Message.ID) {
		return EventRejected, &Mismatch{
			Resource: "provider event", Detail: "its id is not 1–255 printable ASCII characters",
		}, nil
	}
	outcome := EventApplied
	var mismatch *Mismatch
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		outcome, mismatch = EventApplied, nil
		first, err := core.FirstTime(ctx, tx.Inbox, tx.Now, event.Message)
		if err != nil || !first {
			outcome = EventDuplicate
			return err
		}
		mismatch, err = tx.applyReport(ctx, event.Report)
		return err
	})
	switch {
	case errors.Is(err, core.ErrNotFound):
		return EventIgnored, nil, nil
	case errors.Is(err, core.ErrForgotten):
		return EventRejected, &Mismatch{Resource: "provider event", Detail: err.Error()}, nil
	case mismatch != nil:
		outcome = EventRejected
	}
	return outcome, mismatch, err
}

// ApplyReports applies reports that the provider lists, as if it had sent them: first about
// refunds that have failed, which make room for others. It skips those about payments
// unknown to this database, and returns those that differ.
func (s *Service) ApplyReports(ctx context.Context, reports []cards.Report) (found []Mismatch, err error) {
	failedFirst := func(a, b cards.Report) int { return cmp.Compare(b.Result.Outcome, a.Result.Outcome) }
	for _, report := range slices.SortedStableFunc(slices.Values(reports), failedFirst) {
		var mismatch *Mismatch
		failed := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) (err error) {
			mismatch, err = tx.applyReport(ctx, report)
			return err
		})
		if mismatch != nil {
			found = append(found, *mismatch)
		}
		if !errors.Is(failed, core.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}
	return found, err
}

// applyReport applies a report to the payment, refund or dispute that it names. On a
// mismatch it adds the intent to ask the provider.
func (tx Tx) applyReport(ctx context.Context, report cards.Report) (*Mismatch, error) {
	if report.Dispute != nil {
		return tx.applyDispute(ctx, *report.Dispute)
	}
	result := report.Result
	if result.Refund != "" {
		op, r, err := tx.lockByRefundKey(ctx, result.Refund)
		if errors.Is(err, core.ErrNotFound) {
			return tx.adoptRefund(ctx, result)
		}
		if err != nil {
			return nil, err
		}
		mismatch, err := tx.applyRefund(ctx, op, r, result)
		if err != nil || mismatch == nil || r.Status != RefundPending {
			return mismatch, err
		}
		return mismatch, tx.Intents.SettleRefund(ctx, r.ID)
	}
	if result.Charge != "" {
		return tx.adoptRefund(ctx, result)
	}
	op, p, err := tx.lockByPaymentKey(ctx, result.Payment)
	if err != nil {
		return nil, err
	}
	mismatch, err := tx.applyCharge(ctx, op, p, result)
	if err != nil || mismatch == nil || p.Status != Processing {
		return mismatch, err
	}
	return mismatch, tx.Intents.Settle(ctx, p.ID)
}

func (tx Tx) lockByPaymentKey(ctx context.Context, key string) (*OrderPayments, *Payment, error) {
	uuid, ok := cards.PaymentUUID(key)
	if !ok {
		return nil, nil, core.ErrNotFound
	}
	op, err := tx.OrderPayments.LockByPaymentUUID(ctx, uuid)
	if err != nil {
		return nil, nil, err
	}
	return op, op.findPayment(func(p *Payment) bool { return p.UUID == uuid }), nil
}

// lockByCharge finds no failed payment whose late capture is unknown.
func (tx Tx) lockByCharge(ctx context.Context, externalID string) (*OrderPayments, *Payment, error) {
	id, err := tx.Payments.OfCharge(ctx, externalID)
	if err != nil {
		return nil, nil, err
	}
	op, err := tx.OrderPayments.LockByPayment(ctx, id) // no payment has the id 0
	if err != nil {
		return nil, nil, err
	}
	p := op.payment(id)
	if p.Status == Failed && len(p.Refunds) == 0 {
		return nil, nil, core.ErrNotFound
	}
	return op, p, nil
}

func (tx Tx) lockByRefundKey(ctx context.Context, key string) (*OrderPayments, *Refund, error) {
	uuid, ok := cards.RefundUUID(key)
	if !ok {
		return nil, nil, core.ErrNotFound
	}
	op, err := tx.OrderPayments.LockByRefundUUID(ctx, uuid)
	if err != nil {
		return nil, nil, err
	}
	_, r := op.findRefund(func(r *Refund) bool { return r.UUID == uuid })
	return op, r, nil
}
