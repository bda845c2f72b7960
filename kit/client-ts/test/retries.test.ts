import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProblem, OrdersInterrupted, type CommandResult, type Payment } from '@example/orders';
import {
  badGateway,
  cut,
  FakeService,
  lost,
  problem,
  retryable,
  silence,
  success,
  type Answer,
} from './fixture.js';

const payment = { id: 7, status: 'captured' };

/** Pays an order of a service, and returns what comes of it. */
function pay(service: FakeService, options = {}): Promise<CommandResult<Payment>> {
  return service.clock.run(
    service.client(options).confirmPayment('checkout-1/pay', 1, { method: 'balance' }),
  );
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => error,
  );
}

test('a command keeps its key through every failure that a retry can solve', async () => {
  const failures: Answer[] = [
    lost,
    cut,
    badGateway,
    silence,
    () => new Response('{"id": 7, "sta', { headers: { 'Content-Type': 'application/json' } }),
    retryable(429, 'rate_limited'),
    retryable(503, 'unavailable'),
    retryable(503, 'outcome_unknown'),
    retryable(409, 'idempotency_in_progress'),
  ];
  for (const failure of failures) {
    const service = new FakeService(failure, success(payment));
    const result = await pay(service);
    assert.equal(service.sent.length, 2);
    assert.ok(result.key);
    assert.deepEqual(service.keys, [result.key, result.key]);
    assert.equal(service.sent[0]?.body, service.sent[1]?.body);
    assert.deepEqual(result.data, payment);
  }
});

test('a read is retried, and has no key', async () => {
  const service = new FakeService(lost, success({ id: 1 }));
  const { data } = await service.clock.run(service.client().getOrderById(1));
  assert.equal(data.id, 1);
  assert.deepEqual(service.keys, [null, null]);
});

test('a change without a key is not repeated when nobody knows what became of it', async () => {
  for (const failure of [lost, cut, badGateway, silence]) {
    const service = new FakeService(failure, success({}));
    const call = service.client().updateOrderStatus(1, { status: 'shipped' });
    const error = await failureOf(service.clock.run(call));
    assert.equal(service.sent.length, 1);
    assert.ok(error instanceof OrdersInterrupted && error.outcomeUnknown);
  }
});

test('a change without a key is repeated when the service says that this can help', async () => {
  const service = new FakeService(
    retryable(429, 'rate_limited', { 'Retry-After': '2' }),
    success({ id: 1 }),
  );
  await service.clock.run(service.client().updateOrderStatus(1, { status: 'shipped' }));
  assert.deepEqual(service.waits, [2100]);
});

test('what no retry can solve is not retried', async () => {
  for (const [answer, code] of [
    [problem(404, 'not_found'), 'not_found'],
    [problem(500, 'internal'), 'internal'],
  ] as const) {
    const service = new FakeService(answer);
    assert.ok(isProblem(await failureOf(pay(service)), code));
    assert.equal(service.sent.length, 1);
  }
});

test('waits double up to the cap', async () => {
  const service = new FakeService(...Array<Answer>(6).fill(lost), success(payment));
  await pay(service, { backoff: { base: 100, cap: 1000 } });
  assert.deepEqual(service.waits, [100, 200, 400, 800, 1000, 1000]);
});

test('waits are random between 0 and the longest one', async () => {
  const service = new FakeService(lost, lost, success(payment));
  const numbers = [0, 0.25];
  await pay(service, { random: () => numbers.shift() ?? 0 });
  assert.deepEqual(service.waits, [0, 50]);
});

test('at the deadline the error has the operation, the key and the last failure', async () => {
  const service = new FakeService(lost);
  const error = await failureOf(pay(service, { deadline: 5000 }));
  assert.ok(error instanceof OrdersInterrupted);
  assert.equal(error.outcomeUnknown, true);
  assert.deepEqual(error.operation, { operation: 'checkout-1/pay', key: service.keys[0] });
  assert.equal((error.cause as Error).message, 'fetch failed');
  assert.equal(service.clock.pending, 0, 'no timer is left');
});

test('at the deadline an attempt without an answer is ended', async () => {
  for (const [answers, cause] of [
    [[silence], 'TimeoutError'],
    [[lost, silence], 'NoAnswer'],
  ] as const) {
    const service = new FakeService(...answers);
    const error = await failureOf(pay(service, { deadline: 5000 }));
    assert.ok(error instanceof OrdersInterrupted && error.outcomeUnknown);
    assert.equal((error.cause as Error).name, cause);
  }
});

test('an attempt without an answer ends after its time-out', async () => {
  const service = new FakeService(silence, success(payment));
  await pay(service, { attemptTimeout: 2000 });
  assert.deepEqual(service.waits, [2100]);
});

test('a wait beyond the deadline is not begun', async () => {
  const service = new FakeService(retryable(429, 'rate_limited', { 'Retry-After': '60' }));
  const began = service.clock.now();
  const error = await failureOf(pay(service));
  assert.ok(error instanceof OrdersInterrupted);
  assert.equal(error.outcomeUnknown, false, 'the service said that the request had no effect');
  assert.equal(service.clock.now(), began);
});

test('the caller can end a call', async () => {
  for (const answer of [silence, lost]) {
    const service = new FakeService(answer);
    const controller = new AbortController();
    service.clock.after(1, () => controller.abort());
    const call = service
      .client()
      .confirmPayment('checkout-1/pay', 1, { method: 'balance' }, { signal: controller.signal });
    const error = await failureOf(service.clock.run(call));
    assert.ok(error instanceof OrdersInterrupted && error.outcomeUnknown);
    assert.equal((error.cause as Error).name, 'AbortError');
    assert.equal(service.sent.length, 1);
  }
});

test('a call that is ended before it begins sends nothing', async () => {
  const service = new FakeService(success(payment));
  const call = service
    .client()
    .confirmPayment('checkout-1/pay', 1, { method: 'balance' }, { signal: AbortSignal.abort() });
  const error = await failureOf(service.clock.run(call));
  assert.ok(error instanceof OrdersInterrupted && !error.outcomeUnknown);
  assert.equal(service.sent.length, 0);
});

test('a refused token is replaced once', async () => {
  const service = new FakeService(
    problem(401, 'unauthenticated', { next_key: 'same' }),
    lost,
    success(payment),
  );
  const asked: boolean[] = [];
  await pay(service, { token: ({ fresh }: { fresh: boolean }) => `token-${asked.push(fresh)}` });
  assert.deepEqual(asked, [false, true, false]);
  assert.deepEqual(
    service.sent.map(({ headers }) => headers.get('Authorization')),
    ['Bearer token-1', 'Bearer token-2', 'Bearer token-3'],
  );
  assert.equal(new Set(service.keys).size, 1);
});

test('a token that is refused twice ends the call, and is not in the error', async () => {
  const service = new FakeService(problem(401, 'unauthenticated', { next_key: 'same' }));
  const error = await failureOf(pay(service, { token: () => 'secret-token' }));
  assert.ok(isProblem(error, 'unauthenticated'));
  assert.equal(service.sent.length, 2);
  assert.ok(
    !JSON.stringify([error, String(error), (error as Error).stack]).includes('secret-token'),
  );
});

test('a token source that fails ends the call', async () => {
  const service = new FakeService(success(payment));
  const error = await failureOf(
    pay(service, { token: () => Promise.reject(new Error('signed out')) }),
  );
  assert.ok(error instanceof OrdersInterrupted && !error.outcomeUnknown);
  assert.equal((error.cause as Error).message, 'signed out');
});

test('a token source that hangs ends at the time-out', async () => {
  const service = new FakeService(success(payment));
  const error = await failureOf(pay(service, { token: () => new Promise(() => {}) }));
  assert.ok(error instanceof OrdersInterrupted);
  assert.equal(service.sent.length, 0);
});

test('operations without a token are sent without one', async () => {
  const service = new FakeService(success({ status: 'live', version: '0.1.0' }));
  await service.clock.run(
    service.client({ token: () => assert.fail('asked for a token') }).getLiveness(),
  );
  assert.equal(service.sent[0]?.headers.get('Authorization'), null);
});
