import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OrdersInterrupted } from '@example/orders';
import { FakeService, lost, retryable, success } from './fixture.js';

const hour = 60 * 60 * 1000;

/** Creates an order, and returns the error. */
async function failureOf(service: FakeService, options = {}, call = {}): Promise<unknown> {
  const created = service.client(options).createOrder('cart-1', { items: [] }, call);
  return service.clock.run(created).then(
    () => assert.fail('it succeeded'),
    (error: unknown) => error,
  );
}

test('no old key is sent after the machine has slept between two attempts', async () => {
  const service = new FakeService(lost, success({ id: 1 }));
  service.clock.after(50, () => service.clock.suspend(7 * hour)); // the wait takes 100 ms
  const error = await failureOf(service);
  assert.ok(error instanceof OrdersInterrupted && error.outcomeUnknown);
  assert.equal(service.sent.length, 1);
});

test('no old key is sent after the machine has slept in the token source', async () => {
  const service = new FakeService(success({ id: 1 }));
  const token = () => {
    service.clock.suspend(7 * hour);
    return 'token';
  };
  const error = await failureOf(service, { token });
  assert.ok(error instanceof OrdersInterrupted && !error.outcomeUnknown);
  assert.equal(service.sent.length, 0);
});

test('a key is sent for six hours, whatever the deadline is', async () => {
  const service = new FakeService(retryable(503, 'unavailable', { 'Retry-After': '600' }));
  const began = service.clock.now();
  const error = await failureOf(service, {}, { deadline: Infinity });
  assert.ok(error instanceof OrdersInterrupted);
  const age = (service.sent.at(-1)?.at ?? 0) - began;
  assert.ok(age > 5 * hour && age < 6 * hour, `a key was sent for ${age} ms`);
});
