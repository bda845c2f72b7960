import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import {
  isProblem,
  OrdersProblem,
  type OrdersClient,
  type PutProductRequest,
} from '@example/orders';
import { echoOf, FakeService, problem, success, type Answer, type Sent } from './fixture.js';

const price = { amount: '1.00', currency: 'RUB' };

/** A request that each operation must send: METHOD path body. */
const operations: Record<string, [call: (c: OrdersClient) => unknown, request: string]> = {
  createOrder: [(c) => c.createOrder('o', { items: [] }), 'POST /orders {"items":[]}'],
  listOrders: [(c) => first(c.listOrders({ status: 'paid' })), 'GET /orders?status=paid'],
  getOrderById: [(c) => c.getOrderById(1), 'GET /orders/1'],
  reserveInventory: [(c) => c.reserveInventory('o', 1), 'POST /orders/1/reservation {}'],
  confirmPayment: [
    (c) => c.confirmPayment('o', 1, { method: 'balance' }),
    'POST /orders/1/payment/confirm {"method":"balance"}',
  ],
  refundPayment: [
    (c) => c.refundPayment('o', 1, { amount: price }),
    `POST /orders/1/payment/refund ${JSON.stringify({ amount: price })}`,
  ],
  listPayments: [(c) => c.listPayments(1), 'GET /orders/1/payments'],
  searchPayments: [
    (c) => first(c.searchPayments({ status: 'failed' })),
    'GET /payments?status=failed',
  ],
  getPayment: [(c) => c.getPayment(7), 'GET /payments/7'],
  getRefund: [(c) => c.getRefund(8), 'GET /refunds/8'],
  cancelOrder: [(c) => c.cancelOrder('o', 1), 'POST /orders/1/cancel {}'],
  updateOrderStatus: [
    (c) => c.updateOrderStatus(1, { status: 'shipped' }),
    'PATCH /orders/1/status {"status":"shipped"}',
  ],
  getBalance: [(c) => c.getBalance('a/b'), 'GET /customers/a%2Fb/balance'],
  chargeBalance: [
    (c) => c.chargeBalance('o', 'a', { amount: price }),
    `POST /customers/a/balance/charge ${JSON.stringify({ amount: price })}`,
  ],
  creditBalance: [
    (c) => c.creditBalance('o', 'a', { amount: price }),
    `POST /customers/a/balance/credit ${JSON.stringify({ amount: price })}`,
  ],
  listBalanceTransactions: [
    (c) => first(c.listBalanceTransactions('a', { limit: 5 })),
    'GET /customers/a/balance/transactions?limit=5',
  ],
  getCustomerProfile: [(c) => c.getCustomerProfile('a'), 'GET /customers/a/profile'],
  updateCustomerProfile: [
    (c) =>
      c.updateCustomerProfile('a', {
        full_name: 'A',
        email: 'a@example.com',
        phone: '+79160000000',
      }),
    'PUT /customers/a/profile {"full_name":"A","email":"a@example.com","phone":"+79160000000"}',
  ],
  deleteCustomerProfile: [(c) => c.deleteCustomerProfile('a'), 'DELETE /customers/a/profile'],
  listProducts: [(c) => first(c.listProducts()), 'GET /products'],
  getProduct: [(c) => c.getProduct('tea'), 'GET /products/tea'],
  putProduct: [
    (c) => c.putProduct('tea', { name: 'Tea', price }),
    `PUT /products/tea ${JSON.stringify({ name: 'Tea', price })}`,
  ],
  adjustStock: [
    (c) => c.adjustStock('o', 'tea', { change: -1 }),
    'POST /products/tea/stock {"change":-1}',
  ],
  createWebhookEndpoint: [
    (c) => c.createWebhookEndpoint({ url: 'https://a.example', event_types: ['*'] }),
    'POST /webhook-endpoints {"url":"https://a.example","event_types":["*"]}',
  ],
  listWebhookEndpoints: [(c) => first(c.listWebhookEndpoints()), 'GET /webhook-endpoints'],
  getWebhookEndpoint: [(c) => c.getWebhookEndpoint(7), 'GET /webhook-endpoints/7'],
  updateWebhookEndpoint: [
    (c) => c.updateWebhookEndpoint(7, { disabled: false }),
    'PATCH /webhook-endpoints/7 {"disabled":false}',
  ],
  deleteWebhookEndpoint: [(c) => c.deleteWebhookEndpoint(7), 'DELETE /webhook-endpoints/7'],
  rotateWebhookSecret: [(c) => c.rotateWebhookSecret(7), 'POST /webhook-endpoints/7/rotate-secret'],
  testWebhookEndpoint: [(c) => c.testWebhookEndpoint(7), 'POST /webhook-endpoints/7/test'],
  listWebhookDeliveries: [
    (c) => first(c.listWebhookDeliveries(7, { status: 'failed' })),
    'GET /webhook-endpoints/7/deliveries?status=failed',
  ],
  retryWebhookDelivery: [
    (c) => c.retryWebhookDelivery(7, 9),
    'POST /webhook-endpoints/7/deliveries/9/retry',
  ],
  getIdempotencyKey: [(c) => c.getIdempotencyKey('k'), 'GET /idempotency-keys/k'],
  listAuditLog: [(c) => first(c.listAuditLog()), 'GET /admin/audit-log'],
  takeStripeWebhook: [
    (c) => c.takeStripeWebhook({ id: 'evt_1' }, 't=1,v1=00'),
    'POST /webhooks/stripe {"id":"evt_1"}',
  ],
  getLiveness: [(c) => c.getLiveness(), 'GET /health/live'],
  getReadiness: [(c) => c.getReadiness(), 'GET /health/ready'],
  getOpenAPI: [(c) => c.getOpenAPI(), 'GET /openapi.yaml'],
  getDocs: [(c) => c.getDocs(), 'GET /docs'],
  getDocsAsset: [(c) => c.getDocsAsset('a.css'), 'GET /docs/a.css'],
};

async function first<T>(list: AsyncIterable<T>): Promise<T | undefined> {
  for await (const entry of list) return entry;
  return undefined;
}

const statuses: Record<string, number> = {
  createOrder: 201,
  chargeBalance: 201,
  creditBalance: 201,
  adjustStock: 201,
  deleteCustomerProfile: 204,
  createWebhookEndpoint: 201,
  deleteWebhookEndpoint: 204,
  testWebhookEndpoint: 201,
};
const types: Record<string, string> = { getOpenAPI: 'application/yaml', getDocs: 'text/html' };
const body = {
  id: 1,
  sku: 'a',
  customer_id: 'a',
  key: 'k',
  status: 'live',
  data: [],
  next_cursor: null,
};

/** Answers an operation with its own status. */
function successOf(name: string): Answer {
  const status = statuses[name] ?? 200;
  return (sent) =>
    new Response(status === 204 ? null : JSON.stringify(body), {
      status,
      headers: { 'Content-Type': types[name] ?? 'application/json', ...echoOf(sent) },
    });
}

function lineOf({ method, url, body }: Sent): string {
  return [method, url.replace('https://orders.example.com', ''), body]
    .filter((part) => part !== undefined)
    .join(' ');
}

for (const [name, [call, request]] of Object.entries(operations)) {
  test(`${name} sends its request`, async () => {
    const service = new FakeService(successOf(name));
    await service.clock.run(Promise.resolve(call(service.client())));
    assert.deepEqual(service.sent.map(lineOf), [request]);
    assert.equal(
      service.keys[0] !== null,
      [
        'createOrder',
        'reserveInventory',
        'confirmPayment',
        'refundPayment',
        'cancelOrder',
        'chargeBalance',
        'creditBalance',
        'adjustStock',
      ].includes(name),
    );
  });
}

test('a full refund says so', async () => {
  const service = new FakeService(success({ id: 8 }));
  await service.clock.run(service.client().refundPaymentInFull('o', 1, { reason: 'torn' }));
  assert.deepEqual(service.sent.map(lineOf), [
    'POST /orders/1/payment/refund {"reason":"torn","full":true}',
  ]);
});

test('an amount that the caller forgot is not sent', async () => {
  const service = new FakeService();
  const client = service.client();
  for (const amount of [
    undefined,
    null,
    {},
    { currency: 'RUB' },
    { amount: '', currency: 'RUB' },
    { amount: '0.00', currency: 'RUB' },
    { amount: '-1', currency: 'RUB' },
    { amount: 'NaN', currency: 'RUB' },
    { amount: '1.00' },
  ]) {
    const body = { amount, reason: 'torn' } as never;
    await assert.rejects(client.refundPayment('o', 1, body), TypeError);
    await assert.rejects(client.creditBalance('o', 'a', body), TypeError);
    await assert.rejects(client.chargeBalance('o', 'a', body), TypeError);
  }
  await assert.rejects(client.refundPayment('o', 1, undefined as never), TypeError);
  assert.equal(service.sent.length, 0);
});

test('every operation of the contract is a method', async () => {
  const contract = await readFile(new URL('../../../../api/openapi.yaml', import.meta.url), 'utf8');
  const ids = [...contract.matchAll(/^ {6}operationId: (\w+)$/gm)].map(([, id]) => id);
  assert.deepEqual(Object.keys(operations).sort(), ids.sort());
});

test('a list fetches page after page, and keeps its filters', async () => {
  const service = new FakeService(
    success({ data: [{ id: 3 }, { id: 2 }], next_cursor: 'c 1' }),
    success({ data: [{ id: 1 }], next_cursor: null }),
  );
  const ids: number[] = [];
  const read = async () => {
    for await (const order of service.client().listOrders({ status: 'paid' })) ids.push(order.id);
  };
  await service.clock.run(read());
  assert.deepEqual(ids, [3, 2, 1]);
  assert.deepEqual(service.sent.map(lineOf), [
    'GET /orders?status=paid',
    'GET /orders?status=paid&cursor=c+1',
  ]);
});

test('a list that is left early fetches no further page', async () => {
  const service = new FakeService(success({ data: [{ id: 3 }], next_cursor: 'c' }));
  await service.clock.run(first(service.client().listOrders()));
  assert.equal(service.sent.length, 1);
});

test('a product is replaced in the version that was read', async () => {
  const service = new FakeService(success({ sku: 'tea' }, { ETag: '"v1"' }));
  const client = service.client();
  const { etag } = await service.clock.run(client.getProduct('tea'));
  const body: PutProductRequest = { name: 'Tea', price, on_hand: 3 };
  await service.clock.run(client.putProduct('tea', body, { ifMatch: etag ?? '' }));
  assert.equal(service.sent[1]?.headers.get('If-Match'), '"v1"');
});

test('204 has no data', async () => {
  const service = new FakeService(() => new Response(null, { status: 204 }));
  assert.equal(
    (await service.clock.run(service.client().deleteCustomerProfile('a'))).data,
    undefined,
  );
});

test('a problem has the members of its document', async () => {
  const errors = [{ pointer: '#/items', detail: 'must not be empty' }];
  const service = new FakeService(
    problem(422, 'validation_failed', { errors, next_key: 'same', later: true }),
  );
  const error = await service.clock
    .run(service.client().createOrder('o', { items: [] }))
    .catch((e: unknown) => e);
  assert.ok(error instanceof OrdersProblem);
  assert.deepEqual(
    [isProblem(error), isProblem(error, 'validation_failed'), isProblem(error, 'out_of_stock')],
    [true, true, false],
  );
  const { name, cause, stack, operation, record, outcomeUnknown, ...members } = error;
  assert.deepEqual(
    [name, cause, record, outcomeUnknown, operation?.operation],
    ['OrdersProblem', undefined, undefined, false, 'o'],
  );
  assert.match(stack ?? '', /^OrdersProblem: validation_failed: because of the test/);
  assert.deepEqual(members, {
    code: 'validation_failed',
    status: 422,
    title: 'Refused',
    detail: 'because of the test',
    retryable: false,
    nextKey: 'same',
    requestId: 'r-1',
    errors,
  });
});

test('codes, statuses and members that the client does not know pass', async () => {
  const answers: Answer[] = [
    success({ id: 1, status: 'frozen', colour: 'green' }),
    problem(418, 'teapot'),
  ];
  const service = new FakeService(...answers);
  const { data } = await service.clock.run(service.client().getOrderById(1));
  assert.equal(data.status, 'frozen');
  await assert.rejects(service.clock.run(service.client().getOrderById(1)), (error) =>
    isProblem(error, 'teapot'),
  );
});

test('an ID is a positive integer that JSON keeps exactly', async () => {
  const client = new FakeService().client();
  for (const id of [0, -1, 1.5, NaN, 2 ** 53])
    await assert.rejects(client.getOrderById(id), RangeError);
});
