import guard from 'idempotency-backend/express';
import { chargeOf, listen, newApp, reply, routes } from '../charges.mjs';

const app = newApp();
app.use(guard.default ?? guard);
app.post(routes, async (req, res) => {
  const response = await chargeOf(req);
  await req.idempotencySession.SaveResponse(response.body ?? {});
  reply(res, response);
});
listen(app);
