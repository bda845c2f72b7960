// A guard between client and controller: it stores the key with a lock, runs the controller,
// stores the response, and releases the lock. A duplicate waits, then gets 409 with Retry-After.
import { chargeOf, listen, newApp, pool, reply, routes } from '../charges.mjs';

await pool.query(`CREATE TABLE IF NOT EXISTS request (key text PRIMARY KEY, method text NOT NULL, path text NOT NULL,
  body jsonb, locked boolean NOT NULL, status int, response json)`).catch(() => {});

// find returns the stored request of a key, and whether it has the same method, path and body.
const find = async (key, request) =>
  (await pool.query(`SELECT *, (method, path, body) IS NOT DISTINCT FROM ($2, $3, $4::jsonb) AS same
    FROM request WHERE key = $1`, [key, ...request])).rows[0];

// lock reports whether the key is ours. It is not while another request runs or has been answered.
const lock = async (key, request) =>
  (await pool.query(`INSERT INTO request VALUES ($1, $2, $3, $4, true)
    ON CONFLICT (key) DO UPDATE SET locked = true WHERE NOT request.locked AND request.status IS NULL`,
  [key, ...request])).rowCount > 0;

// guarded runs the controller once per key.
const guarded = (controller) => async (req, res) => {
  const key = req.get('Idempotency-Key');
  if (!key) return reply(res, await controller(req));
  const request = [req.method, req.path, JSON.stringify(req.body)];
  for (const began = Date.now(); ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const stored = await find(key, request);
    if (stored && !stored.same) return res.status(400).json({ error: 'the key belongs to another request' });
    if (stored?.status) return reply(res, { status: stored.status, body: stored.response });
    if (await lock(key, request)) break;
    if (Date.now() - began > 5000) return res.status(409).set('Retry-After', '5').json({ error: 'in progress' });
  }
  try {
    const response = await controller(req);
    await pool.query('UPDATE request SET status = $2, response = $3 WHERE key = $1',
      [key, response.status, JSON.stringify(response.body)]);
    reply(res, response);
  } finally {
    await pool.query('UPDATE request SET locked = false WHERE key = $1', [key]);
  }
};

const app = newApp();
app.post(routes, guarded((req) => chargeOf(req)));
listen(app);
