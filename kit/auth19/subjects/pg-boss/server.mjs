import { PgBoss } from 'pg-boss';
import { setTimeout } from 'node:timers/promises';
import { charge, customerOf, listen, newApp, reply, routes, run } from '../charges.mjs';

// Of the jobs with a key, one is queued or active, or one is accepted on a day.
const throttled = process.env.FORM === 'throttled';
const options = throttled ? { singletonSeconds: 24 * 60 * 60 } : {};

const boss = new PgBoss(process.env.DATABASE_URL);
boss.on('error', console.error);
await boss.start();
await boss.createQueue('charge', { policy: throttled ? 'standard' : 'exclusive' });
await boss.work('charge', { localConcurrency: 10, pollingIntervalSeconds: 0.5 }, ([{ data: { kind, headers, body } }]) =>
  run(headers, () => charge(kind, customerOf(headers), body)));

const ended = ({ state }) => ['completed', 'failed'].includes(state);

// send sends a job, and returns the ID of the one that has the key, if there is one.
async function send(data, singletonKey) {
  for (;;) {
    const id = await boss.send('charge', data, { singletonKey, retryLimit: 0, ...options });
    if (id) return id;
    const other = (await boss.findJobs('charge', { key: singletonKey })).find((job) => throttled || !ended(job));
    if (other) return other.id;
  }
}

// result waits for the end of a job and returns the response, or tells to come back.
async function result(id) {
  for (const end = Date.now() + 10_000; Date.now() < end; await setTimeout(20)) {
    const [job] = await boss.findJobs('charge', { id });
    if (ended(job)) return job.state === 'completed' ? job.output : { status: 500, body: { error: 'internal' } };
  }
  return { status: 202, body: { job: id } };
}

const app = newApp();
app.post(routes, async (req, res) => {
  const id = await send({ kind: req.path, headers: req.headers, body: req.body }, req.get('Idempotency-Key'));
  reply(res, await result(id));
});
listen(app);
