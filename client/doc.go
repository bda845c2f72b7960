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
// A name keeps its key after a success. When the service decides to refuse, as with
// [OutOfStock] or [InsufficientFunds], the name gets a new key: call it again after a top-up,
// or with another request. After [IdempotencyKeyReused] it keeps its key, because the
// operation that has it may have taken effect.
//
// # Errors
//
// A call retries by itself what can be retried, until the deadline of its context, or for
// 30 s. What it returns is one of:
//
//   - a [Problem]: the service refused. Match its code with [errors.Is].
//   - an [UnknownOutcomeError]: nobody knows. Call it again with the same name, now or after
//     a restart.
//   - any other error: the request was not sent or not understood.
//
// # Keys
//
// Keys are kept in files by default, see [FileStore]. They are no secrets. Tokens are secrets:
// the client never stores them, and puts them into no error.
package client
