// Starts one process per core, which share the port: node:cluster hands out the
// connections in turn.
import cluster from 'node:cluster';

if (cluster.isPrimary) {
  for (let i = 0; i < Number(process.env.PROCESSES); i++) cluster.fork();
  cluster.on('exit', () => process.exit(1));
  process.on('SIGTERM', () => process.exit(0)); // the others end with this process
} else {
  const { start } = await import(`./${process.env.FRAMEWORK}.js`);
  const [host, port] = process.env.ADDR.split(':');
  await start(host, Number(port));
}
