import Fastify from 'fastify';
import { authenticate } from './auth.js';
import { credit } from './credit.js';

const visible = { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' };

const schema = {
  params: { type: 'object', properties: { customer: visible } },
  headers: {
    type: 'object',
    required: ['idempotency-key'],
    properties: { 'idempotency-key': visible },
  },
  body: {
    type: 'object',
    required: ['amount'],
    properties: {
      amount: {
        type: 'object',
        required: ['amount', 'currency'],
        properties: {
          amount: { type: 'string', pattern: '^\\d{1,15}\\.\\d{2}$' },
          currency: { type: 'string', pattern: '^[A-Z]{3}$' },
        },
      },
    },
  },
};

export async function start(host, port) {
  // One line per request instead of two, as the others write.
  const app = Fastify({ logger: true, disableRequestLogging: true });
  app.addHook('onResponse', async (req, reply) => {
    req.log.info({ req, res: reply, responseTime: reply.elapsedTime }, 'request completed');
  });
  app.get('/health/ready', async () => 'ready');
  app.post('/customers/:customer/balance/credit', { schema }, async (req, reply) => {
    const caller = await authenticate(req.headers.authorization);
    const response = await credit(
      caller,
      req.headers['idempotency-key'],
      req.params.customer,
      req.body,
    );
    if (response.replayed) reply.header('Idempotent-Replayed', 'true');
    return reply.code(response.status).type(response.contentType).send(response.body);
  });
  await app.listen({ host, port });
}
