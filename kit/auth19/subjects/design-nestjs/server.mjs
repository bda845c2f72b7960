// A guard that requires the key, an interceptor that finds and saves a record, and a unique
// index beside the effect.
import { createHash } from 'node:crypto';
import common from '@nestjs/common';
import { of, tap } from 'rxjs';
import { pool } from '../charges.mjs';
import { newController, serve } from '../nest.mjs';

await pool.query(`CREATE TABLE IF NOT EXISTS idempotency_record (key text PRIMARY KEY, command_hash text NOT NULL,
  response_body json, http_status int NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`).catch(() => {});

class KeyGuard {
  canActivate(context) {
    if (context.switchToHttp().getRequest().headers['idempotency-key']) return true;
    throw new common.BadRequestException('Idempotency-Key header is required');
  }
}

class RecordInterceptor {
  async intercept(context, next) {
    const http = context.switchToHttp();
    const { headers, body } = http.getRequest();
    const key = headers['idempotency-key'];
    const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex');
    const { rows: [record] } = await pool.query('SELECT * FROM idempotency_record WHERE key = $1', [key]);
    if (record && record.command_hash !== hash) throw new common.ConflictException('the key belongs to another payload');
    if (record) {
      http.getResponse().status(record.http_status);
      return of(record.response_body ?? undefined);
    }
    return next.handle().pipe(tap((response) =>
      pool.query('INSERT INTO idempotency_record VALUES ($1, $2, $3, $4)',
        [key, hash, JSON.stringify(response), http.getResponse().statusCode]).catch(() => {})));
  }
}

const ChargeController = newController((req) => [req.body.order, req.headers['idempotency-key']]);
common.UseGuards(new KeyGuard())(ChargeController);
common.UseInterceptors(new RecordInterceptor())(ChargeController);

class Charges {}
common.Module({ controllers: [ChargeController] })(Charges);
await serve(Charges);
