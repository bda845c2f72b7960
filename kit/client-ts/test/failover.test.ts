import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { MemoryStore, OrdersClient } from '@example/orders';

type Answer = (response: ServerResponse) => void;

/** Answers as a balancer does that has lost its replicas. */
function page(status: number): Answer {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'text/html' });
    response.end(`<html><body><h1>${status}</h1></body></html>`);
  };
}

/** Ends the connection as a replica does that is killed. */
const resets: Answer = (response) => response.socket?.resetAndDestroy();

/** Ends the connection in the middle of an answer. */
const breaksOff: Answer = (response) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' });
  response.write('{"id": 7', () => resets(response));
};

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

test('a command goes through a failover behind a balancer with one key', async () => {
  const failures = [resets, page(503), page(502), breaksOff, page(504)];
  const sent: { key: unknown; body: string }[] = [];
  const balancer = createServer((request, response) => {
    void textOf(request).then((body) => {
      const failure = failures[sent.push({ key: request.headers['idempotency-key'], body }) - 1];
      if (failure) return failure(response);
      const key = String(request.headers['idempotency-key']);
      response.writeHead(200, { 'Content-Type': 'application/json', 'Idempotency-Key': key });
      response.end('{"id": 7, "status": "captured"}');
    });
  });
  const listening = (port: number) =>
    new Promise<void>((resolve) => balancer.listen(port, '127.0.0.1', resolve));
  await listening(0);
  const { port } = balancer.address() as AddressInfo;
  await new Promise((resolve) => balancer.close(resolve));
  let attempts = 0;
  const client = new OrdersClient({
    baseUrl: `http://127.0.0.1:${port}`,
    store: new MemoryStore(),
    backoff: { base: 1, cap: 1 },
    token: async () => {
      if (++attempts === 2) await listening(port); // the first one was refused
      return 'token';
    },
  });
  try {
    const result = await client.confirmPayment('checkout-1/pay', 1, { method: 'balance' });
    assert.equal(result.data.status, 'captured');
    assert.equal(attempts, failures.length + 2);
    assert.equal(sent.length, failures.length + 1);
    for (const request of sent) assert.deepEqual(request, { key: result.key, body: sent[0]?.body });
  } finally {
    balancer.close();
    balancer.closeAllConnections();
  }
});
