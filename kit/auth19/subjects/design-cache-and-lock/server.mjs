// The response in a cache for 24 hours, and a lock of 30 seconds around the command.
import { createHash } from 'node:crypto';
import { createClient } from '@redis/client';
import { chargeOf, listen, newApp, reply, routes } from '../charges.mjs';

const redis = createClient({ url: process.env.REDIS_URL });
redis.on('error', () => {});
await redis.connect();

const app = newApp();
app.post(routes, async (req, res) => {
  const key = req.get('Idempotency-Key');
  if (!key) return reply(res, await chargeOf(req));
  const hash = createHash('sha256').update(JSON.stringify(req.body)).digest('hex');
  const stored = JSON.parse(await redis.get(key));
  if (stored && stored.hash !== hash) return res.status(400).json({ error: 'the key belongs to other parameters' });
  if (stored) return reply(res, stored.response);
  if (!(await redis.set(`lock:${key}`, '1', { NX: true, EX: 30 }))) {
    return res.status(409).json({ error: 'request in progress' });
  }
  try {
    const response = await chargeOf(req);
    await redis.set(key, JSON.stringify({ hash, response }), { EX: 24 * 60 * 60 });
    reply(res, response);
  } finally {
    await redis.del(`lock:${key}`);
  }
});
listen(app);
