// Idempotency as most services do it: find the key, run the command, save the response.
// The command and its response are in one transaction, so that a crash loses both or none.
//
// What this does not do: two requests with one key at the same time both run. The second
// one fails at a unique index when the first commits, and gets 409 instead of the
// response of the first.
import { createHash } from 'node:crypto';
import { pool, statement } from './database.js';
import { problem } from './problem.js';

const findRecord = statement(
  'findRecord',
  `SELECT fingerprint, status, content_type, location, body FROM idempotency_record
   WHERE scope = $1 AND key = $2 AND expires_at > now()`,
);
const insertRecord = statement(
  'insertRecord',
  `INSERT INTO idempotency_record (scope, key, fingerprint, operation, status,
     content_type, location, body, created_at, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now(), now() + interval '72 hours')`,
);
const uniqueViolation = '23505';

// Returns the response to a request: the stored one, or that of run, which gets a client
// within a transaction. request is what the key stands for.
export async function once({ caller, key, operation, request }, run) {
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([operation, request]))
    .digest();
  const found = await find(caller, key, fingerprint);
  if (found) return found;
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { location, result } = await run(client);
    const response = {
      status: 201,
      type: 'application/json',
      location,
      body: Buffer.from(JSON.stringify(result)),
    };
    const { status, type, body } = response;
    await insertRecord(
      client,
      caller.scope,
      key,
      fingerprint,
      operation,
      status,
      type,
      location,
      body,
    );
    await client.query('COMMIT');
    return response;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error.code === uniqueViolation ? problem(409, 'another request has this key') : error;
  } finally {
    client.release();
  }
}

async function find(caller, key, fingerprint) {
  const [record] = await findRecord(pool, caller.scope, key);
  if (!record) return undefined;
  if (!record.fingerprint.equals(fingerprint)) {
    throw problem(422, 'the key was used for another request');
  }
  const { status, content_type: type, location, body } = record;
  return { status, type, location, body, replayed: true };
}
