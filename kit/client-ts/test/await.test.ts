import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OrdersInterrupted } from '@example/orders';
import { FakeService, lost, retryable, success, type Answer } from './fixture.js';

const processing = success({ id: 7, status: 'processing' });
const pending = success({ id: 8, status: 'pending' });

test('a payment is awaited until it is captured or failed', async () => {
  for (const status of ['captured', 'failed']) {
    const service = new FakeService(processing, lost, processing, success({ id: 7, status }));
    const { data } = await service.clock.run(service.client().awaitPayment(7));
    assert.equal(data.status, status);
    assert.deepEqual(
      new Set(service.sent.map(({ url }) => url)),
      new Set(['https://orders.example.com/payments/7']),
    );
  }
});

test('a refund is awaited until it is succeeded or failed', async () => {
  for (const status of ['succeeded', 'failed']) {
    const service = new FakeService(pending, success({ id: 8, status }));
    const { data } = await service.clock.run(service.client().awaitRefund(8));
    assert.equal(data.status, status);
    assert.equal(service.sent[0]?.url, 'https://orders.example.com/refunds/8');
  }
});

test('a status that the client does not know is not final', async () => {
  const service = new FakeService(
    success({ id: 7, status: 'checked' }),
    success({ id: 7, status: 'captured' }),
  );
  const { data } = await service.clock.run(service.client().awaitPayment(7));
  assert.equal(data.status, 'captured');
});

test('polls become rarer', async () => {
  const service = new FakeService(
    ...Array<Answer>(4).fill(processing),
    success({ id: 7, status: 'captured' }),
  );
  await service.clock.run(service.client({ backoff: { base: 100, cap: 500 } }).awaitPayment(7));
  assert.deepEqual(service.waits, [200, 400, 500, 500]);
});

test('waiting ends at the deadline, with and without answers', async () => {
  for (const answer of [processing, lost, retryable(503, 'unavailable')]) {
    const service = new FakeService(answer);
    const began = service.clock.now();
    const call = service.clock.run(service.client().awaitPayment(7, { deadline: 5000 }));
    await assert.rejects(call, OrdersInterrupted);
    assert.equal(service.clock.now() - began, 5000);
    assert.equal(service.clock.pending, 0);
  }
});
