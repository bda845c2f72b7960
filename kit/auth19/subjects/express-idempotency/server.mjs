import idempotency from 'express-idempotency';
import redisAdapter from 'express-idempotency-redis-adapter';
import { chargeOf, listen, newApp, reply, routes } from '../charges.mjs';

const adapter = new redisAdapter.default({ connectionConfig: { url: process.env.REDIS_URL } });
await adapter.connect();

const app = newApp();
app.use(idempotency.idempotency({ dataAdapter: adapter }));
app.post(routes, async (req, res) => {
  const service = idempotency.getSharedIdempotencyService();
  if (service.isHit(req)) return;
  let response;
  try {
    response = await chargeOf(req);
  } catch (err) {
    await service.reportError(req);
    throw err;
  }
  if (response.body) res.status(response.status).send(response.body);
  else res.status(response.status).send();
});
listen(app);
