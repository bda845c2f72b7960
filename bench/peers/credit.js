import { insertEvent, statement } from './database.js';
import { once } from './once.js';
import { problem } from './problem.js';

const lockBalance = statement(
  'lockBalance',
  `SELECT amount, position FROM balance WHERE customer_id = $1 AND currency = $2 FOR UPDATE`,
);
const updateBalance = statement(
  'updateBalance',
  `UPDATE balance SET amount = amount + $3, position = position + 1, changed_at = now()
   WHERE customer_id = $1 AND currency = $2
   RETURNING round(amount, 2) AS amount, position`,
);
const insertLedgerEntry = statement(
  'insertLedgerEntry',
  `INSERT INTO ledger_entry (kind, debit, credit, amount, currency, customer_id,
     balance_after, position, created_by, idempotency_key, created_at)
   VALUES ('credit', 'world', 'customer/' || $1::text, $2, $3, $1, $4, $5, $6, $7, now())
   RETURNING id, created_at`,
);

export function credit(caller, key, customer, body) {
  const request = { customer, body };
  return once({ caller, key, operation: 'creditBalance', request }, (client) =>
    run(client, caller, key, customer, body.amount),
  );
}

async function run(client, caller, key, customer, { amount, currency }) {
  const [locked] = await lockBalance(client, customer, currency);
  if (!locked) throw problem(404, 'the customer has no balance in this currency');
  const [balance] = await updateBalance(client, customer, currency, amount);
  const after = balance.amount;
  const [entry] = await insertLedgerEntry(
    client,
    customer,
    amount,
    currency,
    after,
    balance.position,
    caller.subject,
    key,
  );
  const id = Number(entry.id);
  await insertEvent(client, 'balance.credit', `balance/${customer}`, {
    customer_id: customer,
    balance_transaction_id: id,
    kind: 'credit',
    amount,
    balance_after: after,
    currency,
  });
  const result = {
    id,
    customer_id: customer,
    kind: 'credit',
    amount: { amount, currency },
    balance_after: { amount: after, currency },
    created_at: entry.created_at,
    description: null,
    reference: null,
  };
  return { location: '', result };
}
