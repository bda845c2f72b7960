// Signs a token for alice and one for bob, with the role of the first argument, and publishes the
// key that verifies them.
import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import http from 'node:http';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = Math.floor(Date.now() / 1000);
for (const sub of ['alice', 'bob']) {
  const claims = { iss: 'https://issuer.localhost', aud: 'auth19', sub, roles: [process.argv[2]], iat: now, exp: now + 3600 };
  const signed = `${encode({ alg: 'ES256', typ: 'JWT', kid: '1' })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  writeFileSync(`token-${sub}`, `${signed}.${signature.toString('base64url')}`);
}
const keys = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'ES256', use: 'sig' }] });
http.createServer((_req, res) => res.setHeader('Content-Type', 'application/json').end(keys)).listen(Number(`${process.env.PORTS}6`), '127.0.0.1');
