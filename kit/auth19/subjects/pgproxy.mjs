// Forwards connections to PostgreSQL. While the file hold-commit exists, it keeps back the answer
// to COMMIT: the transaction has taken effect, and its process does not know.
import { existsSync } from 'node:fs';
import net from 'node:net';

const url = new URL(process.env.DATABASE_URL);
const committed = Buffer.from('COMMIT\0');

net.createServer((client) => {
  const server = net.connect(`${url.searchParams.get('host')}/.s.PGSQL.${url.searchParams.get('port')}`);
  client.pipe(server);
  const forward = (data) => {
    if (existsSync('hold-commit') && data.includes(committed)) {
      server.pause();
      return setTimeout(() => { server.resume(); forward(data); }, 50);
    }
    return client.write(data);
  };
  server.on('data', forward);
  for (const [one, other] of [[client, server], [server, client]]) {
    one.on('error', () => {});
    one.on('close', () => other.destroy());
  }
}).listen(Number(`${process.env.PORTS}7`), '127.0.0.1');
