package payment

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
)

// ProviderEvent is what a card provider sends on its own: the result of a charge or of
// a refund. The terms of the result have no keys when the event concerns nothing of
// ours.
type ProviderEvent struct {
	EventID ProviderEventID
	Result  ChargeResult
}

// ProviderEventID identifies a provider event by its source and id.
type ProviderEventID struct {
	Source string
	ID     string
}

// ApplyProviderEvent applies a provider event, once for each event id. Events and
// answers to our own requests may arrive in any order. Events about payments that this
// database does not know are ignored.
func (s *Service) ApplyProviderEvent(ctx context.Context, event ProviderEvent) error {
	if event.Result.Payment == "" {
		return nil
	}
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		first, err := tx.Inbox.FirstTime(ctx, event.EventID.Source, event.EventID.ID)
		if err != nil || !first {
			return err
		}
		return tx.applyResult(ctx, event.Result)
	})
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// applyResult applies a result to the payment or the refund that its terms name.
func (tx Tx) applyResult(ctx context.Context, result ChargeResult) error {
	if result.Refund != "" {
		op, r, err := tx.lockByRefundKey(ctx, result.Refund)
		if err != nil {
			return err
		}
		return tx.applyRefund(ctx, op, r, result)
	}
	op, p, err := tx.lockByPaymentKey(ctx, result.Payment)
	if err != nil {
		return err
	}
	return tx.applyCharge(ctx, op, p, result)
}

func (tx Tx) lockByPaymentKey(ctx context.Context, key string) (*OrderPayments, *Payment, error) {
	uuid, ok := uuidIn(key, paymentKeys)
	if !ok {
		return nil, nil, core.ErrNotFound
	}
	op, err := tx.OrderPayments.LockByPaymentUUID(ctx, uuid)
	if err != nil {
		return nil, nil, err
	}
	return op, op.findPayment(func(p *Payment) bool { return p.UUID == uuid }), nil
}

func (tx Tx) lockByRefundKey(ctx context.Context, key string) (*OrderPayments, *Refund, error) {
	uuid, ok := uuidIn(key, refundKeys)
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
