import common from '@nestjs/common';
import nodeIdempotency from '@node-idempotency/nestjs';
import { newController, serve } from '../nest.mjs';

const ChargeController = newController();
nodeIdempotency.Idempotent({})(ChargeController);

class Charges {}
common.Module({
  imports: [
    nodeIdempotency.NodeIdempotencyModule.forRootAsync({
      storage: { adapter: 'redis', options: { url: process.env.REDIS_URL } },
    }),
  ],
  controllers: [ChargeController],
})(Charges);
await serve(Charges);
