// The business of charges.mjs as controllers of NestJS, without a compiler for decorators.
import 'reflect-metadata';
import common from '@nestjs/common';
import core from '@nestjs/core';
import { charge, customerOf, pool, run } from './charges.mjs';

const { Controller, Get, HttpCode, HttpException, Module, Param, Body, Post, Put, Req } = common;

// decorate applies decorators to a method and to its arguments.
export function decorate(type, name, decorators, args) {
  for (const d of decorators) d(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name));
  args.forEach((d, i) => d(type.prototype, name, i));
}

// newController returns the controller of the routes under test. second returns the order and
// key of a second line of defence.
export function newController(second = () => []) {
  class ChargeController {
    charge(req) { return this.#run('/charges', req); }
    refund(req) { return this.#run('/refunds', req); }
    quiet(req) { return this.#run('/charges/quiet', req); }
    async #run(kind, req) {
      const { status, body } = await run(req.headers, () =>
        charge(kind, customerOf(req.headers), req.body, pool, second(req)));
      if (status >= 400) throw new HttpException(body, status);
      return body;
    }
  }
  Controller()(ChargeController);
  decorate(ChargeController, 'charge', [Post('charges'), HttpCode(201)], [Req()]);
  decorate(ChargeController, 'refund', [Post('refunds'), HttpCode(201)], [Req()]);
  decorate(ChargeController, 'quiet', [Post('charges/quiet'), HttpCode(204)], [Req()]);
  return ChargeController;
}

class OtherController {
  health() {}
  async list() {
    return { data: (await pool.query('SELECT id::int, amount::int FROM charge ORDER BY id')).rows };
  }
  async limit(id, { max }) { await pool.query('INSERT INTO payer VALUES ($1, $2)', [id, max]); }
}
Controller()(OtherController);
decorate(OtherController, 'health', [Get('health')], []);
decorate(OtherController, 'list', [Get('charges')], []);
decorate(OtherController, 'limit', [Put('payers/:id'), HttpCode(204)], [Param('id'), Body()]);

// serve listens with the module of the subject.
export async function serve(module) {
  class App {}
  Module({ imports: [module], controllers: [OtherController] })(App);
  const app = await core.NestFactory.create(App, { logger: ['error'] });
  app.use((req, res, next) =>
    (req.path === '/health' || customerOf(req.headers) ? next() : res.status(401).json({ error: 'no token' })));
  await app.listen(Number(process.env.PORT), '127.0.0.1');
}
