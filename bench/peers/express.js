import express from 'express';
import pino from 'pino';
import { pinoHttp } from 'pino-http';
import { authenticate, problem } from './auth.js';
import { credit } from './credit.js';

export function start(host, port) {
  const app = express();
  app.use(pinoHttp({ logger: pino() }));
  app.use(express.json());
  app.get('/health/ready', (req, res) => res.sendStatus(200));
  app.post('/customers/:customer/balance/credit', async (req, res) => {
    const caller = await authenticate(req.headers.authorization);
    const key = req.headers['idempotency-key'];
    validate(key, req.params.customer, req.body);
    const response = await credit(caller, key, req.params.customer, req.body);
    if (response.replayed) res.set('Idempotent-Replayed', 'true');
    res.status(response.status).type(response.contentType).send(response.body);
  });
  // Express takes a function with four parameters for an error handler.
  app.use((error, req, res, next) => {
    req.log.error(error);
    res.status(error.statusCode ?? 500).json({ detail: error.message });
  });
  return new Promise((resolve) => app.listen(port, host, resolve));
}

function validate(key, customer, body) {
  if (!/^[\x21-\x7e]{1,255}$/.test(key ?? '')) throw problem(400, 'invalid Idempotency-Key');
  if (!/^[\x21-\x7e]{1,255}$/.test(customer)) throw problem(400, 'invalid customer_id');
  const { amount, currency } = body?.amount ?? {};
  if (typeof amount !== 'string' || !/^\d{1,15}\.\d{2}$/.test(amount)) {
    throw problem(400, 'invalid amount');
  }
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)) {
    throw problem(400, 'invalid currency');
  }
}
