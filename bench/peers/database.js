import pg from 'pg';

export const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.POOL),
  idleTimeoutMillis: 0,
});

// Returns a function that runs a statement on a client or the pool. Each statement has a
// name, so that PostgreSQL parses it once per connection.
export function statement(name, text) {
  return async (client, ...values) => (await client.query({ name, text, values })).rows;
}

export const insertEvent = statement(
  'insertEvent',
  `INSERT INTO outbox (type, aggregate, data, created_at) VALUES ($1, $2, $3, now())`,
);
