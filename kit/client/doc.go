// Package client calls the order and payment service and makes each operation take effect
// once, through lost responses, program restarts and service outages.
//
// A program that times out does not know whether it has paid. A retry is safe only with the
// same Idempotency-Key, so the key must be stored before the first attempt. This client does
// so. The caller names every operation:
//
//	payment, err := c.ConfirmPayment(ctx, "cart-4711/pay", order.ID, client.ByBalance())
//
// # Names
//
// A name stands for one business operation, and the client finds the key. Build the name from
// the caller's data, such as a cart number, and the action. The same name returns the first
// result: now, after an error, and after a restart. A random name, or one from a clock,
// protects nothing.
//
// A name keeps the key after a success. After a refusal, the problem's next_key decides.
// With "new", as for [OutOfStock] or [InsufficientFunds], the name gets a new key: call again
// after a top-up, or with a changed request. With "look_up", as for [IdempotencyKeyReused],
// the name keeps its key, because an earlier request owns it and may have taken effect: see
// Record in [Problem]. Any other value also keeps the key.
//
// # Errors
//
// A success has the status that the contract names, and echoes the key. A refusal is a problem
// document of the service. Any other response counts as no answer: a portal, proxy or cache
// gave it, and the service may have been reached.
//
// A call retries until its context deadline, or for 30 s. The error is one of:
//
//   - a [Problem]: the service refused. Match the code with [errors.Is].
//   - an [UnknownOutcomeError]: the change may have taken effect. Call a command again with the
//     same name, now or after a restart. Check the affected resource after a change without a
//     key.
//   - any other error: the request had no effect.
//
// A key is sent for at most six hours after it was read, by the wall clock. A call that a
// suspended machine interrupts for longer ends with an unknown outcome.
//
// # Keys
//
// Keys are kept in files by default, see [FileStore]. They are no secrets. Tokens are secrets:
// the client never stores them and never includes them in an error.
package client
