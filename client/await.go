package client

import (
	"cmp"
	"context"
	"fmt"
)

// AwaitPayment returns a payment when it is decided: captured or failed. It asks the service
// with the back-off of retries. If time runs out, it returns the payment as it was last, and
// the error of the context or [context.DeadlineExceeded].
func (c *Client) AwaitPayment(ctx context.Context, paymentID int64) (Payment, error) {
	return await(ctx, c, paymentID, c.GetPayment, func(p Payment) bool {
		return p.Status == PaymentCaptured || p.Status == PaymentFailed
	})
}

// AwaitRefund is [Client.AwaitPayment] for a refund: it has succeeded or failed.
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
