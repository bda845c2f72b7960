// The design is for FastAPI; its algorithm is written here for Express: each route finds a record,
// compares, runs the command, saves. A unique index stands beside the effect.
import { createHash } from 'node:crypto';
import { chargeOf, listen, newApp, pool, reply, routes } from '../charges.mjs';

await pool.query(`CREATE TABLE IF NOT EXISTS idempotency_record (key text PRIMARY KEY, command_hash text NOT NULL,
  response_body text NOT NULL, http_status smallint NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`).catch(() => {});

const sorted = (value) => (value && typeof value === 'object' && !Array.isArray(value)
  ? Object.fromEntries(Object.keys(value).sort().map((k) => [k, sorted(value[k])])) : value);

const app = newApp();
app.post(routes, async (req, res) => {
  const key = req.get('Idempotency-Key');
  if (!key) return res.status(400).json({ detail: 'Idempotency-Key required' });
  const hash = createHash('sha256').update(JSON.stringify(sorted(req.body))).digest('hex');
  const { rows: [record] } = await pool.query(
    `SELECT * FROM idempotency_record WHERE key = $1 AND created_at > now() - interval '48 hours'`, [key]);
  if (record && record.command_hash !== hash) {
    return res.status(409).json({ detail: 'the key belongs to another payload' });
  }
  if (record) return res.status(record.http_status).type('json').send(record.response_body);
  const response = await chargeOf(req, pool, [req.body.order, key]);
  if (response.status < 400) { // a refusal is an exception there, which passes the saving by
    await pool.query('INSERT INTO idempotency_record VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO NOTHING',
      [key, hash, JSON.stringify(response.body) ?? '', response.status]);
  }
  reply(res, response);
});
listen(app);
