// CreditBalance as most services do it: find the key, run the command, save the response.
// Command and response are in one transaction, so that a crash loses neither or both.
//
// What this does not do: two requests with one key at the same time both run. The second
// one fails at a unique index when the first commits, and gets 409 instead of the
// response of the first.
import { createHash } from 'node:crypto';
import pg from 'pg';
import { problem } from './auth.js';

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.POOL),
  idleTimeoutMillis: 0,
});

const uniqueViolation = '23505';

// Each statement has a name, so that PostgreSQL parses it once per connection.
const sql = {
  findRecord: `SELECT fingerprint, status, content_type, body FROM idempotency_record
    WHERE scope = $1 AND key = $2 AND expires_at > now()`,
  lockBalance: `SELECT amount, position FROM balance
    WHERE customer_id = $1 AND currency = $2 FOR UPDATE`,
  updateBalance: `UPDATE balance SET amount = amount + $3, position = position + 1, changed_at = now()
    WHERE customer_id = $1 AND currency = $2
    RETURNING round(amount, 2) AS amount, position`,
  insertLedgerEntry: `INSERT INTO ledger_entry (kind, debit, credit, amount, currency, customer_id,
      balance_after, position, created_by, idempotency_key, created_at)
    VALUES ('credit', 'world', $1, $2, $3, $4, $5, $6, $7, $8, now())
    RETURNING id, created_at`,
  insertEvent: `INSERT INTO outbox (type, aggregate, data, created_at)
    VALUES ('balance.credit', $1, $2, now())`,
  insertRecord: `INSERT INTO idempotency_record (scope, key, fingerprint, operation, status,
      content_type, location, body, created_at, expires_at)
    VALUES ($1, $2, $3, 'creditBalance', $4, $5, '', $6, now(), now() + interval '72 hours')`,
};

function query(client, name, ...values) {
  return client.query({ name, text: sql[name], values });
}

// credit returns the response to a request: that of the first one with its key.
export async function credit(caller, key, customer, body) {
  const fingerprint = createHash('sha256')
    .update(JSON.stringify(['creditBalance', customer, body]))
    .digest();
  const found = await find(caller.scope, key, fingerprint);
  if (found) return found;
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const response = await run(client, caller, key, customer, body.amount);
    await query(
      client,
      'insertRecord',
      caller.scope,
      key,
      fingerprint,
      response.status,
      response.contentType,
      response.body,
    );
    await client.query('COMMIT');
    return response;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error.code === uniqueViolation
      ? problem(409, 'a request with this key is running')
      : error;
  } finally {
    client.release();
  }
}

async function find(scope, key, fingerprint) {
  const { rows } = await query(pool, 'findRecord', scope, key);
  if (rows.length === 0) return undefined;
  if (!rows[0].fingerprint.equals(fingerprint)) {
    throw problem(422, 'the key was used for another request');
  }
  const { status, content_type: contentType, body } = rows[0];
  return { status, contentType, body, replayed: true };
}

async function run(client, caller, key, customer, { amount, currency }) {
  const { rowCount } = await query(client, 'lockBalance', customer, currency);
  if (rowCount === 0) throw problem(404, 'the customer has no balance in this currency');
  const balance = (await query(client, 'updateBalance', customer, currency, amount)).rows[0];
  const account = `customer/${customer}`;
  const entry = (
    await query(
      client,
      'insertLedgerEntry',
      account,
      amount,
      currency,
      customer,
      balance.amount,
      balance.position,
      caller.subject,
      key,
    )
  ).rows[0];
  const id = Number(entry.id);
  await query(
    client,
    'insertEvent',
    `balance/${customer}`,
    JSON.stringify({
      customer_id: customer,
      balance_transaction_id: id,
      kind: 'credit',
      amount,
      balance_after: balance.amount,
      currency,
    }),
  );
  return respond({
    id,
    customer_id: customer,
    kind: 'credit',
    amount: { amount, currency },
    balance_after: { amount: balance.amount, currency },
    created_at: entry.created_at,
    description: null,
    reference: null,
  });
}

function respond(transaction) {
  const body = Buffer.from(JSON.stringify(transaction));
  return { status: 201, contentType: 'application/json', body, replayed: false };
}
