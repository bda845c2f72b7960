// Package client calls the order and payment service, and makes each operation take effect
// once: through lost responses, restarts of the program and pauses of the service.
//
// A program that times out does not know whether it has paid. To try again is safe only
// with the same Idempotency-Key, and to have the same key it must be stored before the first
// attempt. This client does so. Its caller gives every operation a name:
//
//	payment, err := c.ConfirmPayment(ctx, "cart-4711/pay", order.ID, client.ByBalance())
//
// # Names
//
// A name stands for one business operation, and leads to its key. Take what identifies the
// operation in the caller's own data, such as the number of a cart, and what is done to
// it. The same name returns the first result, now, after an error, and after a restart. A
// name that is made up at each call, from a clock or at random, protects nobody.
//
// A name keeps its key after a success. After a refusal, next_key of the problem decides.
// With "new", as for [OutOfStock] or [InsufficientFunds], the name gets a new key: call it
// again after a top-up, or with another request. With "look_up", as for
// [IdempotencyKeyReused], the name keeps its key, because another request has it and may have
// taken effect: see Record of the [Problem]. In all other cases it keeps its key as well.
//
// # Errors
//
// A call retries by itself what can be retried, until the deadline of its context, or for
// 30 s. What it returns is one of:
//
//   - a [Problem]: the service refused. Match its code with [errors.Is].
//   - an [UnknownOutcomeError]: the change may have taken effect. Call a command again with the
//     same name, now or after a restart. Read what a change without a key has changed.
//   - any other error: the request had no effect.
//
// A key is sent for at most six hours after it was read, by the wall clock: a call that a
// suspended machine interrupts ends with an unknown outcome.
//
// # Keys
//
// Keys are kept in files by default, see [FileStore]. They are no secrets. Tokens are secrets:
// the client never stores them, and puts them into no error.
package client
