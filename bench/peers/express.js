import express from 'express';
import pino from 'pino';
import { pinoHttp } from 'pino-http';
import { authenticate } from './auth.js';
import { credit } from './credit.js';
import { createOrder } from './order.js';
import { problem } from './problem.js';

export function start(host, port) {
  const app = express();
  app.use(pinoHttp({ logger: pino() }));
  app.use(express.json());
  app.get('/health/ready', (req, res) => res.sendStatus(200));
  app.post('/customers/:customer/balance/credit', async (req, res) => {
    const caller = await authenticate(req.headers.authorization, 'system');
    const key = keyOf(req);
    check(isVisible(req.params.customer), 'invalid customer_id');
    check(isMoney(req.body?.amount), 'invalid amount');
    send(res, await credit(caller, key, req.params.customer, req.body));
  });
  app.post('/orders', async (req, res) => {
    const caller = await authenticate(req.headers.authorization, 'customer');
    const key = keyOf(req);
    const items = req.body?.items;
    check(Array.isArray(items) && items.length > 0 && items.every(isItem), 'invalid items');
    send(res, await createOrder(caller, key, req.body));
  });
  // Express takes a function with four parameters for an error handler.
  app.use((error, req, res, next) => {
    req.log.error(error);
    res.status(error.statusCode ?? 500).json({ detail: error.message });
  });
  return new Promise((resolve) => app.listen(port, host, resolve));
}

function send(res, { status, type, location, body, replayed }) {
  if (location) res.location(location);
  if (replayed) res.set('Idempotent-Replayed', 'true');
  res.status(status).type(type).send(body);
}

function keyOf(req) {
  const key = req.headers['idempotency-key'];
  check(isVisible(key), 'invalid Idempotency-Key');
  return key;
}

function check(valid, detail) {
  if (!valid) throw problem(400, detail);
}

const isVisible = (text) => /^[\x21-\x7e]{1,255}$/.test(text ?? '');
const isMoney = (money) =>
  typeof money?.amount === 'string' &&
  /^\d{1,15}\.\d{2}$/.test(money.amount) &&
  typeof money.currency === 'string' &&
  /^[A-Z]{3}$/.test(money.currency);
const isItem = (item) =>
  typeof item?.sku === 'string' &&
  /^[A-Za-z0-9._-]{1,64}$/.test(item.sku) &&
  Number.isInteger(item.quantity) &&
  item.quantity > 0;
