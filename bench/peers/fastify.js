import Fastify from 'fastify';
import { authenticate } from './auth.js';
import { credit } from './credit.js';
import { createOrder } from './order.js';

const visible = { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' };
const money = object({
  amount: { type: 'string', pattern: '^\\d{1,15}\\.\\d{2}$' },
  currency: { type: 'string', pattern: '^[A-Z]{3}$' },
});
const item = object({
  sku: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  quantity: { type: 'integer', minimum: 1 },
});
const headers = object({ 'idempotency-key': visible });
const creditSchema = {
  headers,
  params: object({ customer: visible }),
  body: object({ amount: money }),
};
const orderSchema = {
  headers,
  body: object({ items: { type: 'array', minItems: 1, items: item } }),
};

function object(properties) {
  return { type: 'object', required: Object.keys(properties), properties };
}

export async function start(host, port) {
  // One line per request instead of two, as the others write.
  const app = Fastify({ logger: true, disableRequestLogging: true });
  app.addHook('onResponse', async (req, reply) => {
    req.log.info({ req, res: reply, responseTime: reply.elapsedTime }, 'request completed');
  });
  app.get('/health/ready', async () => 'ready');
  app.post('/customers/:customer/balance/credit', { schema: creditSchema }, async (req, reply) => {
    const caller = await authenticate(req.headers.authorization, 'system');
    const key = req.headers['idempotency-key'];
    return send(reply, await credit(caller, key, req.params.customer, req.body));
  });
  app.post('/orders', { schema: orderSchema }, async (req, reply) => {
    const caller = await authenticate(req.headers.authorization, 'customer');
    return send(reply, await createOrder(caller, req.headers['idempotency-key'], req.body));
  });
  await app.listen({ host, port });
}

function send(reply, { status, type, location, body, replayed }) {
  if (location) reply.header('Location', location);
  if (replayed) reply.header('Idempotent-Replayed', 'true');
  return reply.code(status).type(type).send(body);
}
