import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { MemoryStore, OrdersInterrupted, OrdersProblem, type OrdersClient } from '@example/orders';
import { echoOf, FakeService, lost, success, type Answer, type FakeClock } from './fixture.js';

/** The cases that the tests of all clients read. */
interface Cases {
  answers: Record<string, Described>;
  successes: Record<string, Described>;
  cases: Behaviour[];
  services: string[][];
  retry_after: { now: string; waits: Record<string, number | null> };
}

interface Described {
  status?: number;
  body?: object;
  text?: string;
  type?: string;
  echo?: 'none' | 'other';
  hours_asleep?: number;
}

/** How a client behaves when a call gets some answers. */
interface Behaviour {
  call: string;
  answers: string[];
  sends: string[];
  outcome: string;
  key?: string;
}

const path = new URL('../../../cases.json', import.meta.url);
const {
  answers,
  successes,
  cases,
  services,
  retry_after: retryAfter,
} = JSON.parse(await readFile(path, 'utf8')) as Cases;

/** Returns an answer. While it is lost, the machine may sleep. */
function answerOf(described: Described, clock: () => FakeClock): Answer {
  const { status, body, echo, hours_asleep: hours = 0 } = described;
  if (status === undefined) {
    return (...request) => {
      clock().suspend(hours * 3_600_000);
      return lost(...request);
    };
  }
  const text = body === undefined ? described.text : JSON.stringify(body);
  if (text === undefined) return () => new Response(status === 204 ? null : '<html>', { status });
  const type = described.type ?? (status < 400 ? 'application/json' : 'application/problem+json');
  return (sent) => {
    const key = echo === 'other' ? { 'Idempotency-Key': 'other' } : echo ? {} : echoOf(sent);
    return new Response(text, { status, headers: { 'Content-Type': type, ...key } });
  };
}

/** The operations of the cases. Commands have the same name each time. */
const calls: Record<string, (client: OrdersClient) => Promise<unknown>> = {
  createOrder: (client) => client.createOrder('cart-1', { items: [{ sku: 'tea', quantity: 2 }] }),
  updateOrderStatus: (client) => client.updateOrderStatus(1041, { status: 'shipped' }),
  putProduct: (client) =>
    client.putProduct(
      'tea',
      { name: 'Tea', price: { amount: '1.00', currency: 'RUB' } },
      { ifMatch: '"1"' },
    ),
  updateCustomerProfile: (client) =>
    client.updateCustomerProfile('sber-42', { full_name: 'A', email: 'a@b.example', phone: '+7' }),
  deleteCustomerProfile: (client) => client.deleteCustomerProfile('sber-42'),
  listProducts: (client) => client.listProducts()[Symbol.asyncIterator]().next(),
  getOrderById: (client) => client.getOrderById(1041),
};

/** Returns what comes of a call. */
async function outcomeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'success',
    (error: unknown) => {
      assert.ok(error instanceof OrdersProblem || error instanceof OrdersInterrupted);
      if (error.outcomeUnknown) return 'unknown';
      return error instanceof OrdersProblem ? 'refused' : 'failed';
    },
  );
}

for (const wanted of cases) {
  test(`${wanted.call}, ${wanted.answers.join(' + ')}: behaves as all clients do`, async () => {
    const service: FakeService = new FakeService(
      ...[...wanted.answers.map((name) => answers[name]), successes[wanted.call]].map((described) =>
        answerOf(described ?? assert.fail(), () => service.clock),
      ),
    );
    const client = service.client();
    const call = calls[wanted.call] ?? assert.fail(wanted.call);

    const outcome = await outcomeOf(service.clock.run(call(client)));
    const behaviour = { ...wanted, outcome, sends: service.sent.map(({ method }) => method) };
    if (wanted.key) {
      await service.clock.run(call(client));
      behaviour.key = service.keys.at(-1) === service.keys[0] ? 'same' : 'new';
    }

    assert.deepEqual(behaviour, wanted);
  });
}

for (const [value, wait] of Object.entries(retryAfter.waits)) {
  test(`Retry-After: ${value} is read as all clients do`, async () => {
    const headers = { 'Retry-After': value };
    const service = new FakeService(
      () => new Response('<html>', { status: 503, headers }),
      success({ id: 1041 }),
    );
    service.clock.suspend(Date.parse(retryAfter.now) - service.clock.now());
    const call = service.client().createOrder('cart-1', { items: [] });

    const outcome = await outcomeOf(service.clock.run(call));

    assert.deepEqual(service.waits, wait === null ? [] : [wait]);
    assert.equal(outcome, wait === null ? 'unknown' : 'success');
  });
}

test('a service is one at all spellings of its address, as for all clients', async () => {
  const store = new MemoryStore();
  const keys: string[] = [];
  for (const urls of services) {
    const service = new FakeService(success({ id: 1041 }));
    for (const baseUrl of urls) {
      const call = service.client({ baseUrl, store }).createOrder('cart-1', { items: [] });
      await service.clock.run(call);
    }
    assert.equal(new Set(service.keys).size, 1, urls.join(' '));
    keys.push(service.keys[0] ?? assert.fail());
  }
  assert.equal(new Set(keys).size, services.length);
});
