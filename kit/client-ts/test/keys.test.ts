import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MemoryStore,
  OrdersInterrupted,
  OrdersProblem,
  WebStore,
  type KeyStore,
  type OrdersClient,
} from '@example/orders';
import { FakeService, lost, problem, retryable, storedRefusal, success } from './fixture.js';

const order = { id: 1 };

/** Creates an order, and returns the error if it is refused. */
async function create(
  service: FakeService,
  client: OrdersClient,
  name = 'checkout-1',
): Promise<unknown> {
  const call = client.createOrder(name, { items: [{ sku: 'tea', quantity: 1 }] });
  return service.clock.run(call).catch((error: unknown) => error);
}

test('a key is kept before the first attempt', async () => {
  const service = new FakeService((sent) => {
    assert.deepEqual(kept, [sent.headers.get('Idempotency-Key')]);
    return success(order)(sent, AbortSignal.abort());
  });
  const kept: string[] = [];
  class Recorder extends MemoryStore {
    override async getOrCreate(operation: string, proposed: string): Promise<string> {
      kept.push(proposed);
      return super.getOrCreate(operation, proposed);
    }
  }
  assert.ok(!((await create(service, service.client({ store: new Recorder() }))) instanceof Error));
});

test('nothing is sent under a key that could not be kept', async () => {
  const service = new FakeService();
  const store = {
    getOrCreate: () => Promise.reject(new Error('disk full')),
    forget: async () => {},
  };
  assert.match(String(await create(service, service.client({ store }))), /disk full/);
  assert.equal(service.sent.length, 0);
});

const silent: KeyStore = {
  getOrCreate: () => new Promise(() => {}),
  forget: () => new Promise(() => {}),
};

test('a call waits for a silent store until its deadline, and sends nothing', async () => {
  const service = new FakeService();
  const began = service.clock.now();
  const client = service.client({ store: silent, deadline: 5000 });
  const errors = [
    await create(service, client),
    await service.clock.run(client.forget('checkout-1')).catch((error: unknown) => error),
  ];
  for (const error of errors)
    assert.ok(error instanceof OrdersInterrupted && !error.outcomeUnknown);
  assert.equal(service.clock.now() - began, 2 * 5000);
  assert.equal(service.clock.pending, 0, 'no timer is left');
  assert.equal(service.sent.length, 0);
});

test('the caller can end a call that waits for a silent store', async () => {
  for (const signal of [AbortSignal.abort(), abortLater()]) {
    const service = new FakeService();
    const call = service
      .client({ store: silent })
      .createOrder('checkout-1', { items: [] }, { signal });
    const error = await call.catch((error: unknown) => error);
    assert.ok(error instanceof OrdersInterrupted && !error.outcomeUnknown);
    assert.equal((error.cause as Error).name, 'AbortError');
  }
});

/** Returns a signal that is aborted when all promises have gone as far as they can. */
function abortLater(): AbortSignal {
  const controller = new AbortController();
  setImmediate(() => controller.abort());
  return controller.signal;
}

test('a store that answers after the deadline has no effect', async () => {
  const service = new FakeService(success(order));
  let answer = (_: string) => {};
  const late = new Promise<string>((resolve) => (answer = resolve));
  const store = { getOrCreate: () => late, forget: async () => {} };
  assert.ok((await create(service, service.client({ store }))) instanceof OrdersInterrupted);
  answer('key');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(service.sent.length, 0);
});

test('a refusal whose key cannot be dropped is returned at the deadline', async () => {
  for (const forget of [silent.forget, () => Promise.reject(new Error('disk full'))]) {
    const service = new FakeService(storedRefusal(409, 'out_of_stock'));
    const store = { getOrCreate: async (_: string, key: string) => key, forget };
    const error = await create(service, service.client({ store }));
    assert.ok(error instanceof OrdersProblem && error.cause instanceof Error);
    assert.match(error.message, /its key could not be dropped/);
  }
});

for (const [name, open] of Object.entries({
  'fires nothing': () => ({}),
  'is blocked': () => {
    const opening = { onblocked: () => {} };
    setImmediate(() => opening.onblocked());
    return opening;
  },
  'is forbidden': () => {
    throw new DOMException('no storage here', 'SecurityError');
  },
})) {
  test(`a call ends where IndexedDB ${name}`, async (t) => {
    t.after(() => Reflect.deleteProperty(globalThis, 'indexedDB'));
    Object.assign(globalThis, { indexedDB: { open } });
    const service = new FakeService();
    const error = await create(service, service.client({ store: new WebStore() }));
    assert.ok(error instanceof OrdersInterrupted && !error.outcomeUnknown);
    assert.equal(service.sent.length, 0);
  });
}

test('a key that another request has is looked up and kept', async () => {
  const record = { key: 'k', state: 'completed', command: 'confirmPayment', status: 200 };
  const service = new FakeService(
    problem(409, 'idempotency_key_reused', { next_key: 'look_up' }),
    success(record),
  );
  const error = await create(service, service.client());
  assert.ok(error instanceof OrdersProblem);
  assert.deepEqual(error.record, record);
  assert.match(error.message, /the operation keeps its key/);
  assert.equal(
    service.sent[1]?.url,
    `https://orders.example.com/idempotency-keys/${service.keys[0]}`,
  );
});

test('a refusal after a lost answer says that the outcome is unknown, unless it is stored', async () => {
  for (const [refusal, unknown] of [
    [problem(403, 'forbidden_role', { next_key: 'same' }), true],
    [storedRefusal(402, 'insufficient_funds'), false],
  ] as const) {
    const service = new FakeService(lost, refusal);
    const error = await create(service, service.client());
    assert.ok(error instanceof OrdersProblem);
    assert.equal(error.outcomeUnknown, unknown);
    assert.equal(error.operation?.key, service.keys[0]);
  }
});

test('the caller can forget an operation', async () => {
  const service = new FakeService(success(order));
  const client = service.client();
  await create(service, client);
  await client.forget('checkout-1');
  await create(service, client);
  assert.equal(new Set(service.keys).size, 2);
});

test('names, principals and services have keys of their own in a shared store', async () => {
  const service = new FakeService(success(order));
  const store = new MemoryStore();
  for (const options of [
    {},
    { principal: 'alice' },
    { principal: 'bob' },
    { baseUrl: 'https://other.example.com' },
  ]) {
    await create(service, service.client({ store, ...options }));
    await create(service, service.client({ store, ...options }));
  }
  await create(service, service.client({ store }), 'checkout-2');
  assert.equal(new Set(service.keys).size, 5);
});

test('a service with a name is one at all its addresses', async () => {
  const service = new FakeService(success(order));
  const store = new MemoryStore();
  for (const options of [
    { service: 'orders' },
    { service: 'orders', baseUrl: 'https://10.0.0.7:8443' },
    { service: 'https://moved.example.com' },
    { baseUrl: 'https://moved.example.com' },
  ])
    await create(service, service.client({ store, ...options }));
  const [first, second, third, fourth] = service.keys;
  assert.equal(first, second);
  assert.equal(third, fourth);
});

test('a service with a name has the keys that the last version stored', async () => {
  const service = new FakeService(lost, storedRefusal(409, 'out_of_stock'), success(order));
  const store = new MemoryStore();
  const last = JSON.stringify(['https://orders.example.com', '', 'checkout-1']);
  const begun = await store.getOrCreate(last, 'begun');
  const client = service.client({ store, service: 'orders' });

  await create(service, client); // is refused at the second attempt
  await create(service, client);

  assert.deepEqual(service.keys.slice(0, 2), [begun, begun]);
  assert.notEqual(service.keys[2], begun);
  assert.equal(await store.getOrCreate(last, 'another'), service.keys[2]);
});

test('no token is sent in the clear', () => {
  const service = new FakeService();
  for (const baseUrl of [
    'http://localhost:8080',
    'http://127.0.0.1',
    'http://[::1]:8080',
    'https://orders.example.com',
  ])
    service.client({ baseUrl });
  for (const baseUrl of [
    'http://orders.example.com',
    'http://192.0.2.7:8080',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://localhost@evil.example',
    'ftp://localhost',
  ])
    assert.throws(() => service.client({ baseUrl }), TypeError, baseUrl);
});

test('an operation needs a name', async () => {
  const service = new FakeService();
  await assert.rejects(service.client().createOrder('', { items: [] }), TypeError);
});

test('the result says whether the answer is a stored one, and until when', async () => {
  const headers = {
    'Idempotency-Result': 'reused',
    'Idempotency-Expires': '2026-11-25T12:00:00Z',
    'X-Request-Id': 'r-2',
  };
  const service = new FakeService(retryable(503, 'outcome_unknown'), success(order, headers));
  const result = await service.clock.run(service.client().createOrder('checkout-1', { items: [] }));
  assert.equal(result.replayed, true);
  assert.deepEqual(result.expiresAt, new Date('2026-11-25T12:00:00Z'));
  assert.equal(result.requestId, 'r-2');
});
