// The handlers. Callers reach them through the ingress of restate-server.
import * as restate from '@restatedev/restate-sdk';
import { charge, customerOf, pool, run } from '../charges.mjs';

// Node.js 20 lacks what the SDK calls.
Promise.withResolvers ??= () => {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

const handler = (kind) => async (ctx, body) => {
  const headers = Object.fromEntries(ctx.request().headers);
  const customer = customerOf(headers);
  if (!customer) throw new restate.TerminalError('no token', { errorCode: 401 });
  const response = await run(headers, () => ctx.run('charge', () => charge(kind, customer, body)))
    .catch((err) => {
      if (/^told to fail/.test(err.message)) throw new restate.TerminalError(err.message, { errorCode: 500 });
      throw err;
    });
  if (response.status >= 400) throw new restate.TerminalError(response.body.error, { errorCode: response.status });
  return response.body;
};

const limit = (ctx, { payer, max }) => ctx.run('limit', async () => { await pool.query('INSERT INTO payer VALUES ($1, $2)', [payer, max]); });
const handlers = { charge: handler('/charges'), refund: handler('/refunds'), quiet: handler('/charges/quiet'), limit };
restate.serve({ services: [restate.service({ name: 'Charges', handlers })], port: Number(process.env.PORT) });
