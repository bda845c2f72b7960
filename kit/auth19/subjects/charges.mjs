// The business that every subject in JavaScript shares. A server adds the implementation under
// test, as its documentation says.
import express from 'express';
import pg from 'pg';

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
pool.on('error', () => {}); // while PostgreSQL is down

export const routes = ['/charges', '/refunds', '/charges/quiet'];

const customers = { 'Bearer alice': 'alice', 'Bearer bob': 'bob' };

// customerOf returns the customer of a request's token.
export const customerOf = (headers) => customers[headers.authorization];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Number(ms ?? 0)));

// run calls effect, waits and fails around it as the request's headers tell.
export async function run(headers, effect) {
  await sleep(headers['x-delay-before']);
  if (headers['x-fail'] === 'before') throw new Error('told to fail before the effect');
  const result = await effect();
  await sleep(headers['x-delay-after']);
  if (headers['x-fail'] === 'after') throw new Error('told to fail after the effect');
  return result;
}

// charge inserts the row, unless the amount exceeds the payer's limit. It returns the response.
// second is the order and key of a second line of defence.
export async function charge(kind, customer, body, db = pool, second = []) {
  const { rows: [{ max }] } = await db.query(
    'SELECT coalesce((SELECT max FROM payer WHERE id = $1), 10000) AS max', [body.payer ?? '']);
  if (body.amount > Number(max)) return { status: 402, body: { error: 'limit exceeded' } };
  const { rows: [row] } = await db.query(
    `INSERT INTO charge (kind, customer, amount, note, order_id, key) VALUES ($1, $2, $3, $4, $5, $6)
     RETURNING id::int, amount::int, note`,
    [kind, customer, body.amount, body.note, second[0], second[1]]);
  return kind === '/charges/quiet' ? { status: 204 } : { status: 201, body: row };
}

// chargeOf runs the charge of a request of Express.
export const chargeOf = (req, db, second) =>
  run(req.headers, () => charge(req.path, customerOf(req.headers), req.body, db, second));

// reply sends a response of charge.
export const reply = (res, { status, body }) => (body ? res.status(status).json(body) : res.status(status).end());

// newApp returns an application with tokens, the list of charges, and the limits.
export function newApp() {
  const app = express();
  app.use(express.json());
  app.get('/health', (_req, res) => res.end());
  app.use((req, res, next) => (customerOf(req.headers) ? next() : res.status(401).json({ error: 'no token' })));
  app.get('/charges', async (_req, res) => {
    const { rows } = await pool.query('SELECT id::int, amount::int FROM charge ORDER BY id');
    res.json({ data: rows });
  });
  app.put('/payers/:id', async (req, res) => {
    await pool.query('INSERT INTO payer VALUES ($1, $2)', [req.params.id, req.body.max]);
    res.status(204).end();
  });
  return app;
}

// listen serves the application. An error that no handler caught is answered with 500, or with
// the status that was set before.
export function listen(app) {
  app.use((err, _req, res, next) => {
    if (res.headersSent) return next(err);
    const status = res.statusCode >= 400 ? res.statusCode : 500;
    res.status(status).json({ error: status === 500 ? 'internal' : err.message });
  });
  app.listen(Number(process.env.PORT), '127.0.0.1');
}
