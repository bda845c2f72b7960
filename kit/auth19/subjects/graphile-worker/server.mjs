import { run as work } from 'graphile-worker';
import { setTimeout } from 'node:timers/promises';
import { charge, customerOf, listen, newApp, pool, reply, routes, run } from '../charges.mjs';

// task charges, and stores the response for the caller who waits for the job.
async function task({ kind, headers, body }, { job }) {
  const store = (response) => pool.query('INSERT INTO response VALUES ($1, $2)', [job.id, response]);
  try {
    await store(await run(headers, () => charge(kind, customerOf(headers), body)));
  } catch (err) {
    await store({ status: 500, body: { error: 'internal' } });
    throw err;
  }
}

const runner = await work({ connectionString: process.env.DATABASE_URL, concurrency: 10, taskList: { task } });

// add adds a job. Where many callers add one with the same key, it may fail, and is tried again.
async function add(payload, jobKey) {
  for (;;) {
    const job = await runner.addJob('task', payload, { jobKey, maxAttempts: 1 });
    if (job?.id) return job;
  }
}

// answerTo waits for the response of a job.
async function answerTo(job) {
  for (;;) {
    const { rows: [row] } = await pool.query('SELECT response FROM response WHERE job = $1', [job.id]);
    if (row) return row.response;
    await setTimeout(20);
  }
}

const app = newApp();
app.post(routes, async (req, res) => {
  const job = await add({ kind: req.path, headers: req.headers, body: req.body }, req.get('Idempotency-Key'));
  reply(res, await answerTo(job));
});
listen(app);
