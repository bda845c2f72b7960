import { DBOS } from '@dbos-inc/dbos-sdk';
import { DrizzleDataSource } from '@dbos-inc/drizzle-datasource';
import { sql } from 'drizzle-orm';
import { charge, customerOf, listen, newApp, reply, routes, run } from '../charges.mjs';

const source = new DrizzleDataSource('app', { connectionString: process.env.DATABASE_URL });

// db runs a query, whose parameters stand in order, in the transaction of DBOS.
const db = {
  query: (text, values) => source.client.execute(
    sql.join(text.split(/\$\d/).flatMap((part, i) => (i ? [sql`${values[i - 1] ?? null}`, sql.raw(part)] : [sql.raw(part)])))),
};
const insert = source.registerTransaction(
  (kind, customer, body) => charge(kind, customer, body, db), { name: 'insert' });
const pay = DBOS.registerWorkflow(
  (kind, headers, body) => run(headers, () => insert(kind, customerOf(headers), body)), { name: 'pay' });

DBOS.setConfig({ name: 'charges', systemDatabaseUrl: process.env.DATABASE_URL, executorID: process.env.REPLICA });
await DBOS.launch();

const app = newApp();
app.post(routes, async (req, res) => {
  const handle = await DBOS.startWorkflow(pay, { workflowID: req.get('Idempotency-Key') })(req.path, req.headers, req.body);
  reply(res, await handle.getResult());
});
listen(app);
