import core from '@node-idempotency/core';
import redis from '@node-idempotency/storage-adapter-redis';
import { chargeOf, listen, newApp, reply, routes } from '../charges.mjs';

const storage = new redis.RedisStorageAdapter({ url: process.env.REDIS_URL });
await storage.connect();
const idempotency = new core.Idempotency(storage);

// The draft names these statuses.
const statuses = { REQUEST_IN_PROGRESS: 409, IDEMPOTENCY_FINGERPRINT_MISSMATCH: 422 };

// onRequest returns the stored response, if there is one, and sets the status of a refusal.
async function onRequest(request, res) {
  try {
    return await idempotency.onRequest(request);
  } catch (err) {
    if (err instanceof core.IdempotencyError) res.status(statuses[err.code] ?? 400);
    throw err;
  }
}

const app = newApp();
app.post(routes, async (req, res) => {
  const request = { method: req.method, headers: req.headers, body: req.body, path: req.path };
  let response = await onRequest(request, res);
  if (!response) {
    response = await chargeOf(req).then(
      ({ status, body }) => ({ body, additional: { status } }),
      () => ({ error: { error: 'internal' }, additional: { status: 500 } }));
    await idempotency.onResponse(request, response);
  }
  reply(res, { status: response.additional.status, body: response.body ?? response.error });
});
listen(app);
