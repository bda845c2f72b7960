// Key, effect and response in one transaction; a duplicate waits for up to five seconds.
import { createHash } from 'node:crypto';
import { chargeOf, listen, newApp, pool, reply, routes } from '../charges.mjs';

await pool.query(`CREATE TABLE IF NOT EXISTS idempotency_keys (key text PRIMARY KEY, endpoint text NOT NULL,
  request_hash bytea NOT NULL, status text NOT NULL, response_status int, response_body jsonb,
  expires_at timestamptz)`).catch(() => {});

const hashOf = (endpoint, body) =>
  createHash('sha256').update(`${endpoint}\n${JSON.stringify(body, Object.keys(body).sort())}`).digest();

const find = async (client, key, lock = '') =>
  (await client.query(`SELECT * FROM idempotency_keys WHERE key = $1 ${lock}`, [key])).rows[0];

// duplicate answers a request whose key exists.
async function duplicate(client, key, hash, res) {
  let record = await find(client, key, 'FOR UPDATE');
  if (!record.request_hash.equals(hash)) return res.status(409).json({ error: 'the key belongs to another payload' });
  for (const began = Date.now(); record?.status !== 'completed' && Date.now() - began < 5000;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    record = await find(client, key);
  }
  if (record?.status !== 'completed') return res.status(409).set('Retry-After', '2').json({ error: 'in progress' });
  res.set('Idempotency-Result', 'reused');
  reply(res, { status: record.response_status, body: record.response_body });
}

async function first(client, key, req, res) {
  const response = await chargeOf(req, client);
  await client.query(`UPDATE idempotency_keys SET status = 'completed', response_status = $2, response_body = $3 WHERE key = $1`,
    [key, response.status, response.body && JSON.stringify(response.body)]);
  await client.query('COMMIT');
  reply(res.set('Idempotency-Result', 'created'), response);
}

const app = newApp();
app.post(routes, async (req, res) => {
  const key = req.get('Idempotency-Key');
  if (!key || key.length > 200) return res.status(400).json({ error: 'Idempotency-Key is required, with at most 200 characters' });
  const endpoint = `${req.method} ${req.path}`;
  const hash = hashOf(endpoint, req.body);
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { rowCount } = await client.query(
      `INSERT INTO idempotency_keys (key, endpoint, request_hash, status, expires_at)
       VALUES ($1, $2, $3, 'in_progress', now() + interval '3 days') ON CONFLICT (key) DO NOTHING`, [key, endpoint, hash]);
    await (rowCount ? first(client, key, req, res) : duplicate(client, key, hash, res));
  } finally {
    await client.query('ROLLBACK').catch(() => {}); // after COMMIT there is nothing to roll back
    client.release();
  }
});
listen(app);
