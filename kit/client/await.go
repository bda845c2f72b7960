package client

import (
	"cmp"
	"context"
	"fmt"
)

// AwaitPayment polls a payment until it is captured or failed, with the client back-off. If
// time runs out, it returns the payment as last seen with the context error or
// [context.DeadlineExceeded].
func (c *Client) AwaitPayment(ctx context.Context, paymentID int64) (Payment, error) {
	return await(ctx, c, paymentID, c.GetPayment, func(p Payment) bool {
		return p.Status == PaymentCaptured || p.Status == PaymentFailed
	})
}

// AwaitRefund polls a refund until it succeeded or failed; see [Client.AwaitPayment].
func (c *Client) AwaitRefund(ctx context.Context, refundID int64) (Refund, error) {
	return await(ctx, c, refundID, c.GetRefund, func(r Refund) bool {
		return r.Status == RefundSucceeded || r.Status == RefundFailed
	})
}

func await[T any](
	ctx context.Context, c *Client, id int64, get func(context.Context, int64) (T, error), decided func(T) bool,
) (T, error) {
	ctx, until, cancel := c.withDeadline(ctx, unlimited)
	defer cancel()
	for polls := 0; ; polls++ {
		seen, err := get(ctx, id)
		if err != nil || decided(seen) {
			return seen, err
		}
		if !c.wait(ctx, until, polls, nil) {
			return seen, fmt.Errorf("%d is not decided yet: %w", id, cmp.Or(ctx.Err(), context.DeadlineExceeded))
		}
	}
}
