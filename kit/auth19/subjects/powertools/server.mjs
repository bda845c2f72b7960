// A Lambda function behind an HTTP front that plays API Gateway.
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache';
import { createClient } from '@redis/client';
import { charge, customerOf, listen, newApp, routes, run } from '../charges.mjs';

const client = createClient({ url: process.env.REDIS_URL });
client.on('error', () => {});
await client.connect();

const handler = makeIdempotent(
  async (event) => {
    const { headers, path } = event;
    const { status, body } = await run(headers, () => charge(path, customerOf(headers), JSON.parse(event.body)));
    return { statusCode: status, body: body ? JSON.stringify(body) : '' };
  },
  {
    persistenceStore: new CachePersistenceLayer({ client }),
    config: new IdempotencyConfig({
      eventKeyJmesPath: 'headers."idempotency-key"',
      payloadValidationJmesPath: process.env.PAYLOAD, // unset by default
    }),
  },
);

const statuses = { IdempotencyAlreadyInProgressError: 409, IdempotencyValidationError: 422 };
const timeout = 10_000; // of the function

const app = newApp();
app.post(routes, async (req, res) => {
  const deadline = Date.now() + timeout;
  const context = { functionName: 'charges', getRemainingTimeInMillis: () => deadline - Date.now() };
  const event = { httpMethod: req.method, path: req.path, headers: req.headers, body: JSON.stringify(req.body) };
  try {
    const { statusCode, body } = await handler(event, context);
    res.status(statusCode).type('json').send(body);
  } catch (err) {
    res.status(statuses[err.name] ?? 502).json({ error: err.name });
  }
});
listen(app);
